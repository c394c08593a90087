// On a server: labels that people give here, the agreement that moves with them, and a run that continues.

const EVERY = 2000; // milliseconds between two looks at a run that continues
let given = {}, saving = Promise.resolve(), stale = false, counting = 0;

async function readLabels() {
  if (!served || served.continues) return;
  given = await unpack("labels");
  for (const [item, labels] of Object.entries(given)) {
    for (const [criterion, label] of Object.entries(labels)) note(item, criterion, label);
  }
}

// Labels that were given elsewhere meanwhile: in another window, or by another command.
async function readAgain() {
  try {
    await readLabels();
  } catch (error) {
    return told(error.message, true);
  }
  const seen = current, typing = document.activeElement.matches("input");
  for (const criterion of typing ? [] : Object.keys(given[seen?.id] ?? {})) await redraw(seen, criterion);
  return agreementNow();
}

// Keep a label, and set the bits by which the grid is filtered.
function note(item, criterion, label) {
  (given[item] ??= {})[criterion] = label;
  const verdict = byId.get(item)?.on.get(index.criteria.indexOf(criterion));
  if (!verdict) return;
  verdict[2] &= ~(DIFFERS | LABELLED);
  verdict[2] |= (label.differs ? DIFFERS : 0) | (label.label === null ? 0 : LABELLED);
  if (verdict.length > MORE) verdict.splice(MORE, 2, label.label, label.value);
  byId.get(item).human_score = label.score;
}

// An item's verdicts with the labels of now.
function withLabels(item) {
  for (const verdict of item.verdicts) {
    const label = given[item.id]?.[verdict.criterion];
    if (!label) continue;
    verdict.human_label = label.label ?? undefined;
    verdict.human_value = label.value ?? undefined;
    item.human_score = label.score;
    verdict.human_reason = label.reason ?? undefined;
  }
}

function labelParts(entry, item, verdict) {
  if (!served?.labels) return null;
  const now = verdict.human_label, labels = index.answers[index.criteria.indexOf(verdict.criterion)];
  const give = (label, reason = verdict.human_reason ?? "") => decide(entry, verdict.criterion, label, reason);
  const box = make("div", { className: "label", role: "group", ariaLabel: `Your label for ${verdict.criterion}` });
  box.append(...labels.map((label) => {
    const agrees = label === verdict.label;
    const button = make("button", {
      type: "button", className: "small", ariaPressed: String(label === now), onclick: () => give(label === now ? null : label),
    }, agrees ? `Agree: ${label}` : label);
    if (agrees) button.dataset.agree = "";
    return button;
  }));
  if (labels.length === 1) { // only "cannot assess" can be listed: the others are numbers
    const input = make("input", { placeholder: "a number", ariaLabel: `Your number for ${verdict.criterion}`, value: now ?? "" });
    input.onchange = () => give(input.value.trim() || null);
    box.append(input);
  }
  if (now === undefined) return box;
  const comment = make("input", { className: "comment", placeholder: "Comment: why", ariaLabel: `Why, for ${verdict.criterion}`, value: verdict.human_reason ?? "" });
  comment.onchange = () => give(now, comment.value);
  box.append(comment);
  return box;
}

// Labels go out one after the other; what cannot be saved is said, and shown as it is on disk.
function decide(entry, criterion, label, reason) {
  told("saving…");
  saving = saving.then(async () => {
    try {
      const [run, compare] = ["run", "compare"].map((name) => new URLSearchParams(served.query).get(name) ?? "");
      const response = await fetch("label", {
        method: "POST", headers: { "Content-Type": "application/json" }, keepalive: true,
        body: JSON.stringify({ run, compare, item: entry.id, criterion, label, reason, annotator: served.annotator }),
      });
      const answer = response.ok || response.status === 409 ? await response.json() : { error: `${response.status}` };
      if (answer.error) throw new Error(answer.error);
      note(entry.id, criterion, answer);
      stale = true;
      countItems();
      told("saved");
    } catch (error) {
      told(`not saved: ${error.message}`, true);
    }
    await redraw(entry, criterion);
    agreementNow();
  });
}

function told(words, trouble = false) {
  at("saved").textContent = words;
  at("saved").classList.toggle("failed-text", trouble);
}

// The figures of now; of labels that come meanwhile, once more at the end.
async function agreementNow() {
  counting += 1;
  if (counting > 1) return;
  for (let counted = 0; counted < counting;) {
    counted = counting;
    const now = await (await ask("agreement")).json();
    at("agreement-now").textContent = now.n
      ? `agreement: accuracy ${now.accuracy}${now.accuracy_interval && ` (${now.accuracy_interval})`}, kappa ${now.kappa}, ${now.n} labels` : "";
  }
  counting = 0;
}

// A run that continues is read again every few seconds, until it has ended.
async function follow() {
  try {
    const state = await (await ask("state")).json();
    if (state.ended) return location.reload();
    if (String(state.version) !== served.version) {
      served.version = state.version;
      await readIndex();
      prepareGrid();
      list();
    }
    return setTimeout(follow, EVERY);
  } catch (error) {
    return told(`The server does not answer: ${error.message}`, true);
  }
}
