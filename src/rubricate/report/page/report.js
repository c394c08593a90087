// The report's items: unpacked when they are looked at, shown as text and never as markup.

const FAILED = 1, ABSTAINED = 2, NOT_APPLICABLE = 4, DIFFERS = 8, UNSURE = 16, FLIPPED = 32,
  NOT_RUN = 128;
const ONLY = {
  differs: DIFFERS, failed: FAILED, not_run: NOT_RUN, undecided: ABSTAINED | NOT_APPLICABLE, unsure: UNSURE,
  flipped: FLIPPED,
};
const IN_A_PAGE = 50;
const FIELDS = ["search", "criterion", "verdict", "only", "sort"];

// Packed data

const unpacked = new Map();

async function unpack(name) {
  const packed = atob(at(name).textContent);
  const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).json();
}

function chunk(name) {
  const known = unpacked.get(name) ?? unpack(name);
  unpacked.delete(name);
  unpacked.set(name, known);
  if (unpacked.size > 16) unpacked.delete(unpacked.keys().next().value);
  return known;
}

// The index: [id, description, score, [[criterion, label, bits, tone]...], chunk, how the text begins]

let index, byId, shown = [], current = null, focused = -1, search = 0;
const texts = new Set(); // places whose text has the words looked for

async function itemAt(place) {
  const entry = index.entries[place];
  const items = await chunk(`items-${entry[4]}`);
  return items.find((item) => item.id === entry[0]);
}

// A number to so many decimal places, or more where it would else be written as 0 or 1.
function figure(value, digits = 2) {
  if (value === null) return "–";
  const nearest = Math.round(value) || 0;
  if (Math.abs(value - nearest) < 1e-9) return nearest.toFixed(digits);
  while (Math.abs(nearest) <= 1 && digits < 9 && Number(value.toFixed(digits)) === nearest) digits++;
  return value.toFixed(digits);
}

// What the address says: #/items?search=...&item=...

function address() {
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: at(view) ? view : "overview", query: new URLSearchParams(query ?? "") };
}

function go(view, changes = {}, replace = false) {
  const query = view === address().view ? address().query : new URLSearchParams();
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  const hash = `#/${view === "overview" ? "" : view}${text ? `?${text}` : ""}`;
  if (replace) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  return show();
}

async function show() {
  const { view, query } = address();
  for (const section of document.querySelectorAll("main > section")) {
    section.hidden = section.id !== view;
  }
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (view === "items") await showItems(query);
  if (view === "changes") await showFlips(query);
}

// The list

function matches(entry, query) {
  const criterion = query.get("criterion"), verdict = query.get("verdict");
  const only = ONLY[query.get("only")];
  if (!criterion && !verdict && !only) return true;
  return entry[3].some(([name, label, bits]) =>
    (!criterion || index.criteria[name] === criterion) &&
    (!verdict || index.labels[label] === verdict) && (!only || bits & only));
}

const count = (entry, bit) => entry[3].filter((verdict) => verdict[2] & bit).length;
const score = (entry, missing) => entry[2] ?? missing;
const ORDERS = {
  low: (a, b) => score(a, 2) - score(b, 2),
  high: (a, b) => score(b, -1) - score(a, -1),
  differs: (a, b) => count(b, DIFFERS) - count(a, DIFFERS),
  name: (a, b) => (a[1] || a[0]).localeCompare(b[1] || b[0], undefined, { numeric: true }),
};

async function showItems(query) {
  for (const field of FIELDS) at(field).value = query.get(field) ?? "";
  const words = (query.get("search") ?? "").trim().toLowerCase();
  if (words !== at("list").dataset.words) {
    at("list").dataset.words = words;
    texts.clear();
    search = words ? 1 : 0;
    if (words) lookInTexts(words);
  }
  list(query, words);
  const wanted = query.get("item");
  if (wanted !== null && byId.has(wanted)) await open(byId.get(wanted));
  else close();
}

function list(query, words) {
  const entries = index.entries;
  shown = entries.map((_, place) => place).filter((place) => matches(entries[place], query) &&
    (!words || texts.has(place) ||
      `${entries[place][0]}\n${entries[place][1]}`.toLowerCase().includes(words)));
  const order = ORDERS[query.get("sort")];
  if (order) shown.sort((a, b) => order(entries[a], entries[b]) || a - b);
  const wanted = byId.get(query.get("item"));
  let page = Number(query.get("page") ?? 0);
  if (shown.includes(wanted)) page = Math.floor(shown.indexOf(wanted) / IN_A_PAGE);
  const pages = Math.max(1, Math.ceil(shown.length / IN_A_PAGE));
  page = Math.min(page, pages - 1);
  at("found").textContent = `${shown.length} of ${entries.length} items` +
    (words && search ? `, looking into the texts: ${search} %` : "");
  at("pages").hidden = pages === 1;
  at("page").textContent = `${page + 1} of ${pages}`;
  at("before").disabled = page === 0;
  at("after").disabled = page === pages - 1;
  at("before").onclick = () => go("items", { page: page - 1, item: "" });
  at("after").onclick = () => go("items", { page: page + 1, item: "" });
  const visible = shown.slice(page * IN_A_PAGE, (page + 1) * IN_A_PAGE);
  at("list").replaceChildren(...visible.map(line));
}

function line(place) {
  const [id, description, value, verdicts, , opening] = index.entries[place];
  const query = new URLSearchParams(address().query);
  query.set("item", id);
  const cells = make("span", { className: "cells" });
  for (const [name, label, bits, tone] of verdicts) {
    const kinds = ["cell", tone];
    if (bits & (FAILED | NOT_RUN)) kinds.push("failed");
    if (bits & DIFFERS) kinds.push("differs");
    if (bits & UNSURE) kinds.push("unsure");
    const told = `${index.criteria[name]}: ${index.labels[label]}` +
      (bits & DIFFERS ? " (the human label differs)" : "");
    cells.append(make("span", { className: kinds.join(" "), title: told }));
  }
  const wrong = count(index.entries[place], DIFFERS), failed = count(index.entries[place], FAILED);
  const notes = [id === description ? "" : id, wrong ? `${wrong} ${wrong === 1 ? "differs" : "differ"}` : "", failed ? `${failed} failed` : ""];
  const link = make("a", { href: `#/items?${query}` },
    make("span", { className: "score" }, figure(value)),
    make("span", {},
      make("span", { className: "name" }, description || id),
      make("span", { className: "sub" }, ` ${notes.filter(Boolean).join(" · ")}`),
      opening ? make("span", { className: "opening" }, opening) : null,
      cells));
  if (place === current) link.setAttribute("aria-current", "true");
  return make("li", {}, link);
}

async function lookInTexts(words) {
  const last = index.entries.length ? index.entries.at(-1)[4] : -1;
  const start = new Map();
  index.entries.forEach((entry, place) => { if (!start.has(entry[4])) start.set(entry[4], place); });
  for (let number = 0; number <= last; number += 1) {
    const items = await unpack(`items-${number}`);
    if (at("list").dataset.words !== words) return;
    items.forEach((item, offset) => {
      const inside = [item.submission, item.prompt, item.reference, item.other,
        ...item.verdicts.flatMap((verdict) => [verdict.reason, problem(verdict)])];
      if (inside.some((text) => text && text.toLowerCase().includes(words))) {
        texts.add(start.get(number) + offset);
      }
    });
    search = number === last ? 0 : Math.round(100 * (number + 1) / (last + 1));
    if (number % 8 === 7 || number === last) list(address().query, words);
  }
}

// An item

function close() {
  current = null;
  at("item").hidden = true;
  document.querySelector(".browser").classList.remove("open");
}

async function open(place) {
  const item = await itemAt(place);
  if (address().query.get("item") !== item.id) return;
  const fresh = current !== place;
  current = place;
  if (fresh) focused = -1;
  document.querySelector(".browser").classList.add("open");
  for (const link of at("list").querySelectorAll("a")) link.removeAttribute("aria-current");
  const spot = shown.indexOf(place) % IN_A_PAGE;
  if (spot >= 0) {
    const link = at("list").children[spot]?.firstChild;
    link?.setAttribute("aria-current", "true");
    link?.scrollIntoView({ block: "nearest" });
  }
  const article = at("item");
  article.replaceChildren(...itemParts(item).filter((part) => part !== null));
  article.hidden = false;
  if (fresh) article.focus({ preventScroll: true });
  if (fresh && article.getBoundingClientRect().top < 0) article.scrollIntoView();
}

function itemParts(item) {
  const bounds = item.score.lowest === item.score.highest ? ""
    : `could be ${figure(item.score.lowest)} to ${figure(item.score.highest)}`;
  const alone = Object.entries(item.alone ?? {})
    .map(([judge, value]) => `${judge} ${figure(value)}`);
  const parts = [
    make("header", {},
      make("div", {},
        make("h2", {}, item.description || item.id),
        make("p", { className: "sub" }, [item.id, bounds, alone.join(", ")].filter(Boolean).join(" · "))),
      make("span", { className: "big", title: "score" },
        figure(item.score.value)),
      make("span", { className: "walk" },
        make("button", { type: "button", title: "Previous item (k)", ariaLabel: "Previous item", onclick: () => walk(-1) }, "↑"),
        make("button", { type: "button", title: "Next item (j)", ariaLabel: "Next item", onclick: () => walk(1) }, "↓"),
        make("button", { type: "button", title: "Close (Esc)", ariaLabel: "Close the item", onclick: leave }, "✕"))),
    ...item.warnings.map((words) => make("p", { className: "notice" }, words)),
    fold("Prompt", item.prompt),
    fold("Reference", item.reference),
    ...(item.context ?? []).map((one, place) => fold(`Context: ${one.title ?? place + 1}`, one.text ?? one)),
  ];
  const differ = typeof item.other === "string";
  const named = differ ? "Submission of A" : item.other === null ? "Submission, the same in A and B" : "Submission";
  const text = item.submission === null ? null
    : make("div", {}, make("h3", { className: "part" }, named), submission(item));
  const verdicts = make("div", {}, make("h3", { className: "part" }, "Verdicts"),
    ...item.verdicts.map((verdict, place) => verdictPart(verdict, place, item.texts)));
  if (!differ) return [...parts, make("div", { className: "sides" }, text, verdicts)];
  const other = make("div", {}, make("h3", { className: "part" }, "Submission of B"),
    make("div", { className: "text", id: "other-submission" }, item.other));
  return [...parts, make("div", { className: "sides texts" }, text, other), verdicts];
}

function fold(title, text) {
  if (!text) return null;
  return make("details", {}, make("summary", {}, title), make("div", { className: "text" }, text));
}

function submission(item) {
  const text = item.submission, cuts = new Set([0, text.length]), spans = [];
  item.verdicts.forEach((verdict, place) => {
    for (const { start, end } of verdict.evidence ?? []) {
      if (start === null) continue;
      spans.push([start, end, place]);
      cuts.add(start).add(end);
    }
  });
  const edges = [...cuts].sort((a, b) => a - b);
  const box = make("div", { className: "text", id: "submission" });
  for (let edge = 0; edge + 1 < edges.length; edge += 1) {
    const [start, end] = [edges[edge], edges[edge + 1]];
    const of = spans.filter((span) => span[0] <= start && end <= span[1]).map((span) => span[2]);
    const words = text.slice(start, end);
    if (!of.length) box.append(words);
    else {
      const names = [...new Set(of.map((place) => item.verdicts[place].criterion))].join(", ");
      box.append(make("mark", { title: `quoted for ${names}`, onclick: () => focus(of[0], true) }, words));
      box.lastChild.dataset.of = of.join(" ");
    }
  }
  return box;
}

function problem(verdict) {
  return verdict.error ? `${verdict.error.kind}: ${verdict.error.message}` : null;
}

function verdictPart(verdict, place, texts) {
  const label = verdict.label ?? verdict.status;
  const kind = verdict.bits & (FAILED | NOT_RUN) ? "failed" : verdict.tone;
  const failure = problem(verdict);
  const box = make("section", { className: "verdict", id: `verdict-${place}` },
    make("div", { className: "head" },
      make("button", { type: "button", onclick: () => focus(place) }, verdict.criterion),
      make("span", { className: `tag ${kind}` }, label),
      verdict.human_label === undefined ? null
        : make("span", { className: `tag ${verdict.bits & DIFFERS ? "human" : "none"}` },
          `human: ${verdict.human_label}${verdict.bits & DIFFERS ? " ≠" : ""}`),
      ...Object.entries(verdict.annotations ?? {}).map(([who, said]) =>
        make("span", { className: "tag none" }, `${who}: ${said}`)),
      verdict.bits & UNSURE ? make("span", { className: "tag none" }, "unsure") : null,
      make("span", { className: "sub" }, verdict.facts.join(" · "))),
    make("p", { className: "requirement" }, [verdict.requirement, verdict.note].filter(Boolean).join("\n")),
    verdict.reason ? make("p", { className: "reason" }, verdict.reason) : null,
    verdict.human_reason ? make("p", { className: "reason" }, `human: ${verdict.human_reason}`) : null,
    failure ? make("p", { className: "reason failed-text" }, failure) : null);
  for (const { quote, start, paraphrase } of verdict.evidence ?? []) {
    box.append(start === null
      ? make("blockquote", { className: "lost", title: "these words do not stand in the text" },
        quote, make("span", { className: "sub" }, " (not in the text)"))
      : make("blockquote", {}, quote, paraphrase
        ? make("span", { className: "sub", title: "the text says nearly the same in other words" }, " (a paraphrase)")
        : null));
  }
  if (verdict.other) {
    box.append(make("div", { className: "pair" },
      make("div", {}, make("span", { className: "tag" }, `A: ${label}`), make("p", {}, verdict.reason ?? failure ?? "")),
      make("div", {}, make("span", { className: "tag" }, `B: ${verdict.other[0]}`), make("p", {}, verdict.other[1] ?? ""))));
  }
  if (verdict.votes) box.append(votes(verdict.votes));
  if (verdict.detail) {
    box.append(make("details", {}, make("summary", {}, "Details"),
      make("pre", {}, JSON.stringify(verdict.detail, null, 1))));
  }
  box.append(sent(verdict.sent, texts));
  return box;
}

// What was sent for a verdict and what came back. A message is the beginning of one of the item's
// texts, and what is its own.

function sent(conversations, texts) {
  if (!conversations) {
    return make("p", { className: "sub" }, "What was sent and received is not in this page: rubricate show RUN --item … --criterion … --prompt");
  }
  const box = make("details", { className: "sent" }, make("summary", {}, "Sent and received"));
  box.ontoggle = () => {
    if (box.open && box.children.length === 1) box.append(...conversations.flatMap((one) => conversation(one, texts)));
  };
  return box;
}

function conversation(given, texts) {
  if (given.missing) return [make("p", { className: "sub" }, `${given.judge ?? ""}: ${given.missing}`)];
  return given.exchanges.map((one, place) => {
    const requests = one.requests === undefined ? "answered before" : one.requests === 1 ? "" : `${one.requests} requests`;
    const facts = [given.judge ?? "", `${place + 1} of ${given.exchanges.length}`, one.model, one.asked, requests,
      one.cut_off ? "cut off: as long as a reply may be" : "",
      one.left_out ? `${one.left_out} characters of the reply were not kept` : "",
      one.damaged ? "parts of this are damaged in the journal" : ""];
    const messages = one.messages.map(([role, place, length, rest]) =>
      make("div", {}, make("span", { className: "sub" }, role), make("pre", {}, texts[place].slice(0, length) + rest)));
    const shares = Object.entries(one.probabilities ?? {}).map(([token, share]) => `${JSON.stringify(token)} ${share.toFixed(4)}`);
    return make("div", { className: "exchange" },
      make("p", { className: "sub" }, facts.filter(Boolean).join(" · ")),
      make("details", {}, make("summary", {}, `${messages.length} messages`), ...messages),
      one.error ? make("p", { className: "failed-text" }, one.error) : null,
      one.reply === undefined ? null : make("pre", { className: "reply" }, one.reply),
      shares.length ? make("p", { className: "sub" }, shares.join(", ")) : null);
  });
}

function votes(given) {
  const labels = given.map((vote) => `${vote.judge}: ${vote.label ?? vote.status}`).join(", ");
  return make("details", {}, make("summary", {}, `${given.length} votes: ${labels}`),
    ...given.map((vote) => make("div", { className: "reason" },
      make("span", { className: `tag ${vote.tone}` }, vote.label ?? vote.status), " ",
      make("span", { className: "sub" }, vote.judge ?? ""),
      make("p", {}, problem(vote) ?? vote.reason ?? ""))));
}

function focus(place, scroll = false) {
  focused = place;
  for (const box of document.querySelectorAll(".verdict")) {
    box.classList.toggle("on", box.id === `verdict-${place}`);
  }
  let first = null;
  for (const mark of document.querySelectorAll("mark")) {
    const on = mark.dataset.of.split(" ").includes(String(place));
    mark.classList.toggle("on", on);
    if (on) first ??= mark;
  }
  (scroll || !first ? at(`verdict-${place}`) : first)?.scrollIntoView({ block: "nearest" });
}

function walk(step) {
  if (!shown.length) return;
  const spot = current === null ? (step > 0 ? -1 : shown.length) : shown.indexOf(current);
  const next = shown[Math.min(shown.length - 1, Math.max(0, spot + step))];
  go("items", { item: index.entries[next][0], page: "" }, current !== null).then(() => {
    if (current !== null) list(address().query, at("list").dataset.words ?? "");
  });
}

function leave() {
  const back = current;
  go("items", { item: "" });
  const spot = shown.indexOf(back) % IN_A_PAGE;
  at("list").children[spot]?.firstChild?.focus();
}

// Changes against another run

const SOME = 20;
let flipsShown = SOME;

async function showFlips(query) {
  const criterion = query.get("criterion");
  const places = index.flips.map((_, place) => place)
    .filter((place) => !criterion || index.flips[place][1] === criterion);
  const changed = places.filter((place) => place < index.changed).length;
  at("flips-found").textContent = `${changed} ${changed === 1 ? "answer" : "answers"} changed, ${places.length - changed} that only one run decided` + (criterion ? ` on ${criterion}` : "");
  if (criterion) at("flips-found").append(" · ", make("a", { href: "#/changes" }, "all criteria"));
  const cards = [];
  for (const place of places.slice(0, flipsShown)) {
    const rows = await chunk(`flips-${Math.floor(place / index.flips_in_chunk)}`);
    const [item, name, a, b, reasonA, reasonB, human] = rows[place % index.flips_in_chunk];
    cards.push(make("li", {},
      make("h3", {}, make("a", { href: `#/items?${new URLSearchParams({ item })}` }, item), `, ${name}`, place < index.changed ? "" : " (only one run decided)"),
      human === null ? null : make("p", { className: "sub" }, `human label: ${human}`),
      make("div", { className: "pair" },
        make("div", {}, make("span", { className: `tag ${human === a ? "human" : ""}` }, `A: ${a}`), make("p", {}, reasonA ?? "")),
        make("div", {}, make("span", { className: `tag ${human === b ? "human" : ""}` }, `B: ${b}`), make("p", {}, reasonB ?? "")))));
  }
  at("flips").replaceChildren(...cards);
  at("more-flips").hidden = places.length <= flipsShown;
}

// Keys

function step(by) {
  const boxes = document.querySelectorAll(".verdict").length;
  if (boxes) focus((Math.max(focused, by > 0 ? -1 : 0) + by + boxes) % boxes, true);
}

const VIEWS = ["overview", "items", "changes"];

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || at("keys").open) return;
  const typing = event.target.closest("input, select, textarea");
  if (typing) {
    if (event.key === "Escape") typing.blur();
    return;
  }
  const inItems = address().view === "items";
  const does = {
    "?": () => at("keys").showModal(),
    t: turnTheme,
    "/": () => go("items").then(() => at("search").focus()),
    j: () => (inItems ? walk(1) : go("items")),
    k: () => (inItems ? walk(-1) : go("items")),
    n: () => step(1),
    p: () => step(-1),
    Escape: () => current !== null && leave(),
  }[event.key];
  const view = VIEWS[Number(event.key) - 1];
  if (does) does();
  else if (view && at(view)) go(view);
  else return;
  event.preventDefault();
}

async function begin() {
  theme();
  at("theme").onclick = turnTheme;
  at("help").onclick = () => at("keys").showModal();
  index = await unpack("index");
  byId = new Map(index.entries.map((entry, place) => [entry[0], place]));
  at("criterion").append(...index.criteria.map((name) => make("option", { value: name }, name)));
  at("verdict").append(...index.labels.map((label) => make("option", { value: label }, label)));
  let waiting;
  at("search").oninput = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => go("items", { search: at("search").value, page: "", item: "" }, true), 150);
  };
  for (const field of FIELDS.slice(1)) {
    at(field).onchange = () => go("items", { [field]: at(field).value, page: "", item: "" });
  }
  at("filters").onsubmit = (event) => event.preventDefault();
  at("clear").onclick = () => go("items", { ...Object.fromEntries(FIELDS.map((f) => [f, ""])), page: "" });
  if (at("more-flips")) {
    at("more-flips").onclick = () => { flipsShown += 5 * SOME; showFlips(address().query); };
  }
  addEventListener("hashchange", show);
  addEventListener("popstate", show);
  document.addEventListener("keydown", key);
  await show();
  document.body.dataset.ready = "true";
}

begin();
