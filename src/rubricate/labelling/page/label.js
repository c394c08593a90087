// Labelling by keyboard. Texts are shown as text and never as markup; every label is sent at once.

let annotator = document.body.dataset.annotator, overview = null, item = null, review = null;
let current = 0, whole = false, undone = [], sending = Promise.resolve();
let turning = null, keys = Promise.resolve();
const pending = []; // the items of changes that are not saved yet

// The server

async function ask(what, query = {}) {
  const response = await fetch(`${what}?${new URLSearchParams({ ...query, annotator })}`);
  return answer(response);
}

async function send(what, data) {
  const response = await fetch(what, {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...data, annotator }), keepalive: true,
  });
  return answer(response);
}

async function answer(response) {
  const type = response.headers.get("Content-Type") ?? "";
  const data = type.startsWith("application/json") ? await response.json() : {};
  if (!response.ok) throw new Error(data.error ?? `${response.status} ${await response.text()}`);
  return data;
}

function told(words, trouble = false) {
  at("saved").textContent = words;
  at("saved").classList.toggle("trouble", trouble);
}

// Changes go out one after the other; what cannot be saved is said, and shown as it is on disk.
function save(what, data) {
  pending.push(data.item);
  told("saving…");
  sending = sending.then(() => send(what, data)).then(
    (found) => { pending.shift(); if (!pending.length) told("saved"); return found; },
    async (error) => {
      pending.shift();
      told(`not saved: ${error.message}`, true);
      if (item?.id === data.item) await load(item.id, current).catch(() => null);
      return null;
    });
  return sending;
}

// Items

async function begin() {
  theme();
  whole = kept("sessionStorage", "whole") ?? false;
  if (!annotator) annotator = kept("sessionStorage", "annotator") ?? "";
  if (!annotator) at("name").showModal();
  else await start();
  document.body.dataset.ready = "true";
}

async function start() {
  try {
    overview = await ask("overview");
  } catch (error) {
    told(error.message, true);
    at("name").showModal();
    return;
  }
  annotator = overview.annotator;
  kept("sessionStorage", "annotator", annotator);
  undone = kept("sessionStorage", `undo ${annotator}`) ?? [];
  at("who").textContent = annotator;
  const wanted = decodeURIComponent(location.hash.slice(1));
  const next = overview.items.find((one) => one.id === wanted) ?? unlabelled() ?? overview.items[0];
  await open(next.id);
}

const place = () => overview.items.findIndex((one) => one.id === item?.id);
const unlabelled = (from = 0) => {
  const turned = [...overview.items.slice(from), ...overview.items.slice(0, from)];
  return turned.find((one) => one.labelled < one.criteria);
};

async function open(id) {
  if (pending.includes(id)) await sending;
  await load(id);
  history.replaceState(null, "", `#${encodeURIComponent(id)}`);
  material();
  at("material").scrollTop = 0;
}

// What opens another item. Keys pressed until it is there wait for it: they are meant for that item.
function turn(work) {
  const mine = Promise.resolve(turning).then(work).catch(trouble).finally(() => { if (turning === mine) turning = null; });
  turning = mine;
  return mine;
}

async function load(id, number) {
  item = await ask("item", { id });
  review = item.reviewed ? await send("review", { item: id }) : null;
  note();
  const free = item.questions.findIndex((one) => item.labels[one.criterion] === undefined);
  current = number ?? Math.max(0, free);
  draw();
}

function note() {
  const line = overview.items[place()];
  line.labelled = Object.keys(item.labels).length;
  const done = overview.items.filter((one) => one.labelled === one.criteria).length;
  at("progress").textContent = `${done} of ${overview.items.length} items labelled`;
}

function step(by) {
  const next = overview.items[place() + by];
  if (next) turn(() => open(next.id));
}

const trouble = (error) => told(error.message, true);

function material() {
  const fold = (title, text, open) => text
    ? make("details", { open }, make("summary", {}, title), make("div", { className: "text" }, text)) : null;
  at("material").replaceChildren(...[
    make("p", { className: "sub" }, `${place() + 1} of ${overview.items.length} · ${item.id}`),
    make("h2", {}, item.description || item.id),
    fold("Prompt", item.prompt, item.prompt.length < 600 && innerWidth > 860),
    fold("Guidelines", item.guidelines, false),
    fold("Reference", item.reference, false),
    ...item.context.map((one, number) => fold(`Context: ${one.title ?? number + 1}`, one.text ?? one, false)),
    make("h3", {}, "Submission"),
    make("div", { className: "text", id: "submission" }, item.submission),
  ].filter(Boolean));
}

// Questions

const complete = () => item.questions.every((one) => item.labels[one.criterion] !== undefined);

function draw() {
  const panel = at("panel");
  panel.classList.toggle("all", whole && !review);
  if (review) panel.replaceChildren(...reviewParts());
  else panel.replaceChildren(...questionParts());
  const typed = panel.querySelector(".on .typed input");
  if (typed && !review) typed.focus();
  panel.querySelector(".on")?.scrollIntoView({ block: "nearest" });
}

function questionParts() {
  const steps = make("div", { className: "steps", role: "group", ariaLabel: "Criteria" });
  item.questions.forEach((one, number) => {
    const label = item.labels[one.criterion];
    const button = make("button", {
      type: "button", title: `${one.criterion}: ${label ?? "no label yet"}`,
      onclick: () => { current = number; draw(); },
    }, label === undefined ? String(number + 1) : "✓");
    if (label !== undefined) button.classList.add("done");
    if (number === current) button.setAttribute("aria-current", "step");
    steps.append(button);
  });
  const shown = whole ? item.questions : item.questions.slice(current, current + 1);
  return [
    steps,
    ...shown.map((one) => question(one, item.questions.indexOf(one))),
    make("div", { className: "go" },
      make("button", { type: "button", id: "next", className: complete() ? "main" : "", onclick: () => turn(goOn) },
        complete() ? "Go on" : "Skip this item"),
      make("span", { className: "sub" }, complete() ? "Enter" : "→"),
      make("button", { type: "button", id: "undo", disabled: !undone.length, onclick: () => turn(undo) }, "Undo"),
      make("span", { className: "sub" }, "z")),
  ];
}

function question(one, number) {
  const box = make("div", { className: `question${number === current ? " on" : ""}` },
    one.path.length ? make("p", { className: "sub path" }, one.path.join(" › ")) : null,
    make("h2", {}, one.criterion),
    one.fault ? make("p", { className: "sub" }, "A fault: MET means that it is there.") : null,
    make("p", { className: "requirement", tabIndex: 0 }, one.requirement),
    one.note ? make("p", { className: "sub" }, one.note) : null,
    one.material ? make("pre", {}, one.material) : null);
  box.append(answers(one, item.labels[one.criterion], (label) => { current = number; give(label); }));
  return box;
}

function answers(one, chosen, choose) {
  const box = make("div", { className: "answers", role: "group", ariaLabel: `Answers to ${one.criterion}` });
  for (const { label, meaning, key } of one.answers) {
    box.append(make("button", { type: "button", ariaPressed: String(chosen === label), onclick: () => choose(label) },
      make("kbd", {}, key ?? "·"),
      make("span", {}, label, meaning ? make("span", { className: "sub" }, meaning) : null)));
  }
  if (one.typed) {
    const known = one.answers.some((other) => other.label === chosen);
    const input = make("input", { placeholder: one.typed, ariaLabel: `${one.criterion}: ${one.typed}`, value: known ? "" : chosen ?? "" });
    input.onkeydown = (event) => {
      if (event.key !== "Enter" || !input.value.trim()) return;
      event.stopPropagation();
      event.preventDefault();
      choose(written(one, input.value.trim()));
    };
    box.append(make("div", { className: "typed" }, input, make("span", { className: "sub" }, "Enter")));
  }
  return box;
}

function written(one, text) { // what was typed: an answer, its number, or a number
  const labels = one.answers.map((answer) => answer.label);
  const same = labels.find((label) => label.toLowerCase() === text.toLowerCase());
  if (same) return same;
  if (text.toLowerCase() === "c") return labels.at(-1);
  if (labels.length > 1 && /^\d+$/.test(text) && labels[Number(text) - 1]) return labels[Number(text) - 1];
  return text;
}

function give(label) {
  const { criterion } = item.questions[current];
  const before = item.labels[criterion] ?? null;
  remember({ item: item.id, criterion, label: before });
  put(criterion, label);
  save("labels", { item: item.id, criterion, label }).then((found) => {
    if (found?.label && item?.labels[criterion] === label) item.labels[criterion] = found.label;
  });
  const free = item.questions.findIndex((one, number) => number > current && item.labels[one.criterion] === undefined);
  const any = item.questions.findIndex((one) => item.labels[one.criterion] === undefined);
  if (label !== null && any >= 0) current = free >= 0 ? free : any;
  draw();
  if (complete()) { document.activeElement?.blur?.(); at("panel").focus({ preventScroll: true }); }
}

function put(criterion, label) {
  if (label === null) delete item.labels[criterion];
  else item.labels[criterion] = label;
  note();
}

function remember(change) {
  undone.push(change);
  undone = undone.slice(-500);
  kept("sessionStorage", `undo ${annotator}`, undone);
}

async function undo() {
  const change = undone.pop();
  if (!change) return;
  kept("sessionStorage", `undo ${annotator}`, undone);
  if (change.item !== item.id) await open(change.item);
  const number = item.questions.findIndex((one) => one.criterion === change.criterion);
  current = Math.max(0, number);
  if (change.decision) await decide(change.label, change.reason, false);
  else if (review?.locked) told("the judge's verdict has been shown: decide instead", true);
  else {
    review = null;
    put(change.criterion, change.label);
    save("labels", { item: item.id, criterion: change.criterion, label: change.label });
  }
  draw();
}

async function goOn() {
  if (complete() && !review) {
    await sending;
    const found = await send("review", { item: item.id });
    if (found.locked) {
      review = found;
      const first = item.questions.findIndex((one) => differs(one.criterion));
      current = Math.max(0, first);
      draw();
      at("panel").focus({ preventScroll: true });
      at("panel").scrollTop = 0;
      return;
    }
  }
  const next = unlabelled(place() + 1);
  if (next && next.id !== item.id) await open(next.id);
  else if (next) told("only this item is left", false);
  else done();
}

function done() {
  at("panel").replaceChildren(
    make("h2", {}, "All items are labelled"),
    make("p", { className: "requirement" }, "Your labels are in the file. The list of items (l) opens any of them again; the page can be closed."));
}

// What the judge and the others say

function differs(criterion) {
  const found = review.criteria[criterion], own = item.labels[criterion];
  return [found.judge, ...Object.values(found.others)].some((label) => label !== null && label !== own);
}

function reviewParts() {
  const count = item.questions.filter((one) => differs(one.criterion)).length;
  return [
    make("h2", {}, count ? `${count} of ${item.questions.length} ${count === 1 ? "differs" : "differ"} from your labels` : "No label differs from yours"),
    make("p", { className: "sub" }, "Your labels are kept. Choose an answer to decide which label holds."),
    ...item.questions.map(reviewPart),
    make("div", { className: "go" },
      make("button", { type: "button", id: "next", className: "main", onclick: () => turn(goOn) }, "Next item"),
      make("span", { className: "sub" }, "Enter")),
  ];
}

function reviewPart(one, number) {
  const found = review.criteria[one.criterion], own = item.labels[one.criterion];
  const tag = (who, label) => make("span", { className: `tag ${label === own ? "none" : "human"}` }, `${who}: ${label}`);
  const box = make("div", { className: `review${number === current ? " on" : ""}`, onclick: () => {
    if (current !== number) { current = number; draw(); }
  } },
    make("h3", {}, one.criterion),
    make("p", { className: "said" },
      make("span", { className: "tag" }, `you: ${own}`),
      found.judge === null ? null : tag("judge", found.judge),
      ...Object.entries(found.others).map(([who, label]) => tag(who, label))),
    found.reason ? make("p", { className: "why" }, found.reason) : null,
    make("p", { className: "sub" }, found.decided
      ? `Decided by ${found.decided.annotator}: ${found.decided.label}`
      : `Holds: ${found.label ?? "none yet"}`),
    found.why ? make("p", { className: "why" }, found.why) : null);
  if (number === current || found.decided) {
    box.append(answers(one, found.decided?.label, (label) => { current = number; decide(label); }));
    if (found.decided) {
      const reason = make("textarea", { value: found.decided.reason ?? "", placeholder: "why" });
      reason.onchange = () => { current = number; decide(found.decided.label, reason.value); };
      reason.onkeydown = (event) => {
        if (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey)) {
          event.preventDefault();
          reason.blur();
          at("panel").focus();
        }
        event.stopPropagation();
      };
      box.append(make("label", { className: "sub" }, "Reason (r; Enter ends it)", reason));
    }
  }
  return box;
}

async function decide(label, reason, noted = true) {
  const { criterion } = item.questions[current], before = review?.criteria[criterion].decided ?? null;
  if (noted) remember({ item: item.id, criterion, decision: true, label: before?.label ?? null, reason: before?.reason });
  const words = reason ?? before?.reason ?? "";
  const found = await save("adjudications", { item: item.id, criterion, label, reason: words });
  if (found && review) review = await send("review", { item: item.id });
  draw();
}

// Keys

function key(event) {
  if (document.querySelector("dialog[open]") || event.metaKey || event.altKey || !item) return;
  if (event.ctrlKey) {
    if (event.key === "z" && !event.target.closest("input, textarea")) { turn(undo); event.preventDefault(); }
    return;
  }
  if (event.target.closest("input, textarea")) {
    if (event.key === "Escape") event.target.blur();
    if (!["ArrowUp", "ArrowDown", "Enter"].includes(event.key)) return;
  }
  const move = (by) => {
    const next = current + by;
    if (next >= 0 && next < item.questions.length) { current = next; draw(); }
  };
  const general = {
    "?": () => at("keys").showModal(), t: turnTheme, l: listed, v: turnView, z: () => turn(undo),
    ArrowUp: () => move(-1), ArrowDown: () => move(1), k: () => move(-1), j: () => move(1),
    ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    x: () => (review ? decide(null) : give(null)),
    r: () => document.querySelector(".review.on textarea")?.focus(),
    Enter: () => !event.target.closest("button, summary, a") && (review || complete()) && turn(goOn),
  };
  const chosen = item.questions[current].answers.find((one) => one.key === event.key.toLowerCase());
  if (chosen) (review ? decide(chosen.label) : give(chosen.label));
  else if (general[event.key]) {
    if (general[event.key]() === false) return;
  } else return;
  event.preventDefault();
}

function turnView() {
  whole = !whole;
  kept("sessionStorage", "whole", whole);
  draw();
}

function listed() {
  at("list").replaceChildren(...overview.items.map((one) => {
    const button = make("button", { type: "button", onclick: () => { at("items").close(); turn(() => open(one.id)); } },
      make("span", {}, one.description || one.id),
      one.opening ? make("span", { className: "opening" }, one.opening) : null, make("span", { className: "sub" }, `${one.labelled} of ${one.criteria}`));
    if (one.id === item.id) button.setAttribute("aria-current", "true");
    return make("li", {}, button);
  }));
  at("items").showModal();
}

at("naming").onsubmit = () => {
  annotator = at("annotator").value;
  turn(start);
};
at("who").onclick = () => { at("annotator").value = annotator; at("name").showModal(); };
at("help").onclick = () => at("keys").showModal();
at("theme").onclick = turnTheme;
at("view").onclick = turnView;
at("all").onclick = listed;
document.addEventListener("keydown", (event) => {
  if (!turning || document.querySelector("dialog[open]")) return key(event);
  event.preventDefault();
  keys = keys.then(() => turning).then(() => key(event));
});
addEventListener("beforeunload", (event) => { if (pending.length) event.preventDefault(); });
begin();
