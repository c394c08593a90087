// An item: its texts with the quotes marked, and beside them the verdicts.

const LONG = 2400; // characters of a text beyond which it is folded
const MANY = 6; // verdicts beyond which their labels are counted above them
let current = null, focused = -1;

// Leave the item that is shown, and return it.
function close() {
  const left = current;
  current = null;
  at("item").hidden = true;
  at("pane").hidden = false;
  return left;
}

async function open(entry) {
  const item = await itemOf(entry);
  if (address().query.get("item") !== item.id) return;
  withLabels(item);
  const fresh = current !== entry;
  if (fresh) focused = -1;
  current = entry;
  at("pane").hidden = true;
  at("item").replaceChildren(...itemParts(entry, item).filter((part) => part !== null));
  at("item").hidden = false;
  if (fresh) {
    at("item").focus({ preventScroll: true });
    scrollTo(0, 0);
  } else if (focused >= 0) focus(focused, true);
}

// A verdict again, with the label of now; what has the focus keeps it.
async function redraw(entry, criterion) {
  const item = await itemOf(entry), number = item.verdicts.findIndex((verdict) => verdict.criterion === criterion);
  const box = at(`verdict-${number}`);
  if (current !== entry || !box) return;
  withLabels(item);
  const parts = (part) => [...part.querySelectorAll("button, input, summary")];
  const place = parts(box).indexOf(document.activeElement), anew = verdictPart(entry, item, item.verdicts[number], number);
  anew.classList.toggle("on", number === focused);
  box.replaceWith(anew);
  parts(anew)[place]?.focus({ preventScroll: true });
}

function itemParts(entry, item) {
  const place = shown.indexOf(entry);
  const facts = [entry.name === item.id ? item.description : item.id, place >= 0 ? `${place + 1} of ${shown.length}` : "", ...item.facts];
  const back = new URLSearchParams(address().query);
  back.delete("item");
  const header = make("header", {},
    make("div", {},
      make("h2", { dir: "auto" }, entry.name),
      make("p", { className: "sub" }, facts.filter(Boolean).join(" · "))),
    make("p", { className: "big" }, make("span", { className: "sub" }, "score "),
      "other_score" in item ? `A ${entry.figure} → B ${item.other_score}` : entry.figure),
    make("nav", { className: "walk", ariaLabel: "Items" },
      make("a", { href: `#/items?${back}` }, "All items"),
      make("a", { href: `#/items?${new URLSearchParams({ item: item.id })}` }, "Link to this item"),
      make("button", { type: "button", title: "Previous item (k)", ariaLabel: "Previous item", onclick: () => walk(-1) }, "↑"),
      make("button", { type: "button", title: "Next item (j)", ariaLabel: "Next item", onclick: () => walk(1) }, "↓")));
  const verdicts = make("div", { className: "verdicts" }, verdictsHead(entry),
    ...item.verdicts.map((verdict, number) => verdictPart(entry, item, verdict, number)));
  return [
    header,
    ...item.warnings.map((words) => make("p", { className: "notice" }, words)),
    fields(entry),
    make("div", { className: "sides" }, make("div", { className: "texts" }, ...textParts(item)), verdicts),
  ];
}

// The labels of the verdicts; a click goes to the next verdict with that label.
function verdictsHead(entry) {
  const places = (label) => [...entry.verdicts.keys()].filter((place) => index.labels[entry.verdicts[place][1]] === label);
  const next = (label) => focus(places(label).find((place) => place > focused) ?? places(label)[0], true);
  const counted = entry.verdicts.length > MANY ? counts(entry) : [];
  return make("div", { className: "head" }, make("h3", { className: "part" }, "Verdicts"), ...counted.map(([label, count]) =>
    make("button", { type: "button", className: "small", title: `Next verdict ${label}`, onclick: () => next(label) }, `${label}: ${count}×`)));
}

function fields(entry) {
  const known = Object.entries(entry.metadata);
  if (entry.tags.length) known.push(["tags", entry.tags.join(", ")]);
  if (!known.length) return null;
  return make("dl", { className: "fields" }, ...known.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
}

// Texts

function textParts(item) {
  const parts = [fold("Prompt", item.prompt)];
  const differ = typeof item.other === "string";
  const title = differ ? "Submission of A" : item.other === null ? "Submission, the same in A and B" : "Submission";
  if (item.submission === null) parts.push(make("p", { className: "sub" }, "The run folder does not have the text that was judged."));
  else parts.push(passage(title, item.submission, { id: "submission", spans: spansOf(item) }));
  if (differ) {
    parts.push(make("details", { id: "differences", open: true }, make("summary", {}, "Word differences from A to B"),
      differencesBox(item.submission, item.other)));
    parts.push(fold("Submission of B", item.other, false));
  }
  parts.push(fold("Reference", item.reference));
  parts.push(...(item.context ?? []).map((one, number) => fold(`Context: ${one.title ?? number + 1}`, one.text ?? one)));
  return parts.filter((part) => part !== null);
}

function fold(title, text, open = text?.length < 400) {
  if (!text) return null;
  const box = make("details", { open }, make("summary", {}, title));
  box.append(passage(title, text, { heading: false }));
  return box;
}

function spansOf(item) {
  return item.verdicts.flatMap((verdict, number) => (verdict.evidence ?? [])
    .filter((quote) => quote.start !== null)
    .map(({ start, end }) => ({ start, end, number, criterion: verdict.criterion })));
}

function mark(here, words) {
  const numbers = [...new Set(here.map((span) => span.number))];
  const names = [...new Set(here.map((span) => span.criterion))].join(", ");
  const element = make("mark", { title: `quoted for ${names}`, onclick: () => focus(numbers[0], true) }, words);
  element.dataset.of = numbers.join(" ");
  return element;
}

// A text, as it is or with its Markdown rendered. A long one is folded to a part of the screen.
function passage(title, text, { id, spans = [], heading = true } = {}) {
  const body = make("div", { className: "text", dir: "auto" });
  if (id) body.id = id;
  const paint = painter(text, spans, mark), tools = make("span", { className: "tools" });
  const draw = () => {
    const raw = kept("localStorage", "rubricate-raw") === true || !LOOKS_LIKE_MARKDOWN.test(text);
    body.classList.toggle("rendered", !raw);
    body.replaceChildren();
    if (raw) paint(body, 0, text.length);
    else markdown(text, paint, body);
  };
  if (LOOKS_LIKE_MARKDOWN.test(text)) {
    const turn = make("button", { type: "button", className: "small" });
    const name = () => { turn.textContent = body.classList.contains("rendered") ? "Raw" : "Markdown"; };
    turn.onclick = () => {
      kept("localStorage", "rubricate-raw", body.classList.contains("rendered"));
      draw();
      name();
    };
    draw();
    name();
    tools.append(turn);
  } else draw();
  if (text.length > LONG || text.split("\n").length > 40) {
    body.classList.add("long");
    Object.assign(body, { tabIndex: 0, role: "group", ariaLabel: title });
    const all = make("button", { type: "button", className: "small" }, `Show all ${text.length.toLocaleString("en")} characters`);
    all.onclick = () => { all.textContent = body.classList.toggle("long") ? `Show all ${text.length.toLocaleString("en")} characters` : "Fold"; };
    tools.append(all);
  }
  return make("section", { className: "passage" },
    heading || tools.hasChildNodes() ? make("div", { className: "head" }, heading ? make("h3", { className: "part" }, title) : null, tools) : null,
    body);
}

// Verdicts

function verdictPart(entry, item, verdict, number) {
  const label = verdict.label ?? verdict.status, bits = entry.on.get(index.criteria.indexOf(verdict.criterion))?.[2] ?? 0;
  const failure = problem(verdict), differs = bits & DIFFERS;
  const box = make("section", { className: "verdict", id: `verdict-${number}`, ariaLabel: verdict.criterion },
    make("div", { className: "head" },
      make("button", { type: "button", onclick: () => focus(number) }, verdict.criterion),
      make("span", { className: `tag ${bits & (FAILED | NOT_RUN) ? "failed" : verdict.tone}` }, label),
      verdict.human_label === undefined ? null
        : make("span", { className: `tag ${differs ? "differs" : "none"}` }, `human: ${verdict.human_label}${differs ? " ≠" : ""}`),
      ...Object.entries(verdict.annotations ?? {}).map(([who, words]) => make("span", { className: "tag none" }, `${who}: ${words}`)),
      bits & UNSURE ? make("span", { className: "tag none" }, "unsure") : null,
      make("span", { className: "sub" }, verdict.facts.join(" · "))),
    make("p", { className: "requirement", dir: "auto", onclick: () => focus(number) }, [verdict.requirement, verdict.note].filter(Boolean).join("\n")));
  if (verdict.other) {
    const [other, reason] = verdict.other, own = verdict.reason ?? failure ?? "", same = other === label;
    const tone = failure ? "failed-text" : "";
    box.append(make("div", { className: "pair" }, ...(same && own === reason ? [side("A and B", label, own, "", tone)]
      : [side("A", label, own, "", tone), side(same ? "B, the same" : "B", other, reason)])));
  } else {
    if (verdict.reason) box.append(reasonPart(verdict.reason));
    if (failure) box.append(reasonPart(failure, "reason failed-text"));
  }
  if (verdict.human_reason) box.append(reasonPart(`human: ${verdict.human_reason}`));
  for (const { quote, start, paraphrase } of verdict.evidence ?? []) {
    box.append(start === null
      ? make("blockquote", { className: "lost" }, quote, make("span", { className: "sub" }, " (not in the text)"))
      : make("blockquote", { dir: "auto" }, quote, paraphrase
        ? make("span", { className: "sub" }, " (a paraphrase: the text says nearly the same)") : null));
  }
  if (verdict.votes) box.append(votes(verdict.votes));
  if (verdict.detail) box.append(make("details", {}, make("summary", {}, "Details"), block(JSON.stringify(verdict.detail, null, 1))));
  box.append(...[labelParts(entry, item, verdict), sent(entry, number)].filter((part) => part !== null));
  return box;
}

// What somebody wrote; a long text scrolls in itself.
function reasonPart(text, className = "reason") {
  const part = make("p", { className, dir: "auto" }, text);
  if (text.length <= LONG) return part;
  part.classList.add("long");
  return Object.assign(part, { tabIndex: 0, role: "group", ariaLabel: "Reason" });
}

// A long block scrolls in itself, also by keyboard.
const block = (text, className = "") => make("pre", { className, tabIndex: 0 }, text);

const side = (name, label, reason, tone = "", className = "") =>
  make("div", {}, make("span", { className: `tag ${tone}` }, `${name}: ${label}`), reasonPart(reason ?? "", className));

function votes(given) {
  return make("details", { className: "votes" },
    make("summary", {}, `${given.length} votes `, ...given.map((vote) => make("span", { className: `tag ${vote.tone}` }, `${(vote.judge ?? "judge").split("/").at(-1)}: ${vote.label ?? vote.status}`))),
    ...given.map((vote) => make("div", { className: "reason" },
      make("span", { className: "sub" }, vote.judge ?? ""), reasonPart(problem(vote) ?? vote.reason ?? "", ""))));
}

// What was sent for a verdict and what came back. A message is the beginning of one of the item's
// texts, and what is its own.

function sent(entry, number) {
  const box = make("details", { className: "sent" }, make("summary", {}, "Sent and received"));
  box.ontoggle = async () => {
    if (!box.open || box.children.length > 1) return;
    const found = await sentOf(entry);
    if (box.children.length > 1) return;
    box.append(...(found ? found[1][number].flatMap((one) => conversation(one, found[0]))
      : [make("p", { className: "sub" }, "This is not in the page: rubricate show RUN --item … --criterion … --prompt")]));
  };
  return box;
}

const THOUGHT = /<(think|thinking|reasoning|thought)>([\s\S]*?)(?:<\/\1>|$)/gi;

function conversation(given, common) {
  if (given.missing) return [make("p", { className: "sub" }, `${given.judge ?? ""}: ${given.missing}`)];
  return given.exchanges.map((one, place) => {
    const requests = one.requests === undefined ? "answered before" : one.requests === 1 ? "" : `${one.requests} requests`;
    const facts = [given.judge ?? "", `${place + 1} of ${given.exchanges.length}`, one.model, one.asked, requests,
      one.cut_off ? "cut off: as long as a reply may be" : "",
      one.left_out ? `${one.left_out} characters of the reply were not kept` : "",
      one.damaged ? "parts of this are damaged in the journal" : ""];
    const messages = one.messages.map(([role, number, length, rest]) =>
      make("div", {}, make("span", { className: "sub" }, role), block(common[number].slice(0, length) + rest)));
    const inside = [...(one.reply ?? "").matchAll(THOUGHT)].map((found) => found[2]);
    const thoughts = [one.thinking, ...inside].filter(Boolean);
    const shares = Object.entries(one.probabilities ?? {}).map(([token, share]) => `${JSON.stringify(token)} ${share.toFixed(4)}`);
    return make("div", { className: "exchange" },
      make("p", { className: "sub" }, facts.filter(Boolean).join(" · ")),
      make("details", {}, make("summary", {}, `${messages.length} ${messages.length === 1 ? "message" : "messages"}`), ...messages),
      one.error ? make("p", { className: "failed-text" }, one.error) : null,
      thoughts.length ? make("details", { className: "thinking" }, make("summary", {}, "Thinking"), block(thoughts.join("\n\n"))) : null,
      one.reply === undefined ? null : block(inside.length ? one.reply.replace(THOUGHT, "").trim() : one.reply, "reply"),
      shares.length ? make("p", { className: "sub" }, shares.join(", ")) : null);
  });
}

// Moving

function focus(number, scroll = false) {
  focused = number;
  for (const box of document.querySelectorAll(".verdict")) box.classList.toggle("on", box.id === `verdict-${number}`);
  let first = null;
  for (const piece of document.querySelectorAll("mark")) {
    const on = piece.dataset.of.split(" ").includes(String(number));
    piece.classList.toggle("on", on);
    if (on) first ??= piece;
  }
  first?.scrollIntoView({ block: "nearest" });
  if (scroll) at(`verdict-${number}`)?.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const boxes = document.querySelectorAll(".verdict").length;
  if (boxes) focus((Math.max(focused, by > 0 ? -1 : 0) + by + boxes) % boxes, true);
}

function walk(by) {
  if (!shown.length) return;
  const place = current === null ? (by > 0 ? -1 : shown.length) : shown.indexOf(current);
  const next = shown[Math.min(shown.length - 1, Math.max(0, place + by))];
  go("items", { item: next.id }, current !== null);
}
