// The grid: a row for each item, a column for each criterion. Only the rows in view are elements.

const ROW = 36; // pixels, as in the style sheet
const SPARE = 15; // rows that are drawn above and below those in view
const MOST_CRITERIA = 40, MOST_FIELDS = 8; // columns shown at first; the menu has the others
const RARE = 4; // a criterion on less than this part of the items is shown in the column of all verdicts
const PRINTED = 1000, PRINTED_CRITERIA = 12; // rows and columns on paper; of more criteria it has the counts of labels
const ONLY = {
  differs: DIFFERS, failed: FAILED, not_run: NOT_RUN, abstained: ABSTAINED, not_applicable: NOT_APPLICABLE, unsure: UNSURE,
  flipped: FLIPPED, labelled: LABELLED,
};
// What bars and points of the overview add to an address, in words; `a~b` is from a to below b.
const BEHIND = {
  human: "human label", human_value: "value by the human label", human_score: "score by human labels", score: "score",
  value: "value", probability_met: "probability of MET", seconds: "seconds",
};
const FIELDS = ["search", "criterion", "verdict", "only", "field", "sort", ...Object.keys(BEHIND)];

let columns = [], hidden = new Set(), shown = [], drawn = [0, 0], listed = "";
let marksUnsure = true; // not where most verdicts are: a mark on every cell shows nothing

function prepareGrid() {
  const fields = [...new Set(entries.flatMap((entry) => Object.keys(entry.metadata)))];
  const verdicts = entries.flatMap((entry) => entry.verdicts);
  marksUnsure = verdicts.filter(([, , bits]) => bits & UNSURE).length * 2 <= verdicts.length;
  const some = (bit) => verdicts.some(([, , bits]) => bits & bit);
  at("unsure").hidden = !marksUnsure || !some(UNSURE);
  at("unequal").hidden = !some(LABELLED);
  const prompts = new Set(entries.map((entry) => entry.prompt));
  const has = new Map(); // on how many items a criterion is: one of few items is a column of blanks
  for (const [number] of verdicts) has.set(number, (has.get(number) ?? 0) + 1);
  const rare = (number) => has.get(number) * RARE < entries.length;
  const narrow = innerWidth < 760; // a phone shows the item, its score and two criteria
  columns = [
    { key: "item", title: "item", width: narrow ? 94 : 200, value: (entry) => entry.name },
    { key: "score", title: "score", width: narrow ? 66 : 76, number: true, value: (entry) => entry.score, text: (entry) => entry.figure },
    ...index.criteria.map((title, number) => ({
      key: `c:${title}`, title, width: narrow ? 98 : 144, criterion: number, away: number >= MOST_CRITERIA || rare(number),
      value: (entry) => { const verdict = entry.on.get(number); return verdict ? index.labels[verdict[1]] : null; },
    })),
    { key: "verdicts", title: "verdicts", width: 200, away: !index.criteria.some((_, number) => rare(number)), value: tally },
    { key: "prompt", title: "prompt", width: 240, away: prompts.size < 2, value: (entry) => entry.prompt },
    { key: "submission", title: "submission", width: 320, value: (entry) => entry.text },
    ...fields.map((title, number) => ({ key: `m:${title}`, title, width: 120, away: number >= MOST_FIELDS, value: (entry) => entry.metadata[title] ?? null })),
    { key: "tags", title: "tags", width: 140, away: entries.every((entry) => !entry.tags.length), value: (entry) => entry.tags.join(", ") },
  ];
  const kept_ = kept("sessionStorage", `columns ${document.title}`);
  hidden = new Set(kept_ ?? columns.filter((column) => column.away).map((column) => column.key));
  fillFilters(fields);
  countItems();
  drawHead();
}

// How many of an item's verdicts have each label.
function counts({ verdicts }) {
  const counted = new Map();
  for (const [, label] of verdicts) counted.set(index.labels[label], (counted.get(index.labels[label]) ?? 0) + 1);
  return sorted([...counted], ([label]) => label);
}

const tally = (entry) => counts(entry).map(([label, count]) => `${label}: ${count}×`).join(", ");

// How many items each choice of "Only" has; the overview links to those that there are.
function countItems() {
  const lines = [...at("only").options].slice(1).map((option) => {
    const words = option.dataset.words ??= option.textContent, bits = ONLY[option.value];
    const count = entries.filter(({ verdicts }) => verdicts.some((verdict) => verdict[2] & bits)).length;
    option.textContent = `${words} (${count})`;
    option.disabled = !count;
    return make("li", { hidden: !count || option.value === "labelled" }, make("a", { href: `#/items?only=${option.value}` }, words), ` (${count})`);
  });
  at("reading")?.replaceChildren(...lines, at("reading").lastElementChild);
}

function options(select, values) {
  select.replaceChildren(select.options[0], ...values.map(([value, words]) => make("option", { value }, words ?? value)));
}

// Values by their keys, without case and accents, and digits by their number; null comes last, either way.
// The keys are plain texts because a collator takes 0.3 s for 10,000 of them.
function sorted(values, key = (value) => value, way = 1) {
  const keyed = values.map((value) => [value, key(value)]);
  if (keyed.some(([, text]) => typeof text === "string")) {
    for (const pair of keyed) pair[1] &&= String(pair[1]).normalize("NFKD").toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));
  }
  const compare = (a, b) => (a === null || b === null ? (a === null) - (b === null) : way * ((a > b) - (a < b)));
  return keyed.sort(([, a], [, b]) => compare(a, b)).map(([value]) => value);
}

function fillFilters(fields) {
  options(at("criterion"), index.criteria.map((name) => [name]));
  options(at("verdict"), sorted(index.labels).map((label) => [label]));
  const values = new Map(fields.map((field) => [field, new Set(entries.map((entry) => entry.metadata[field] ?? null))]));
  values.set("tag", new Set(entries.flatMap((entry) => entry.tags)));
  const choices = [...values].filter(([, known]) => known.size <= 100)
    .flatMap(([field, known]) => sorted([...known].filter((value) => value !== null))
      .map((value) => [JSON.stringify([field, value]), `${field}: ${value}`]));
  options(at("field"), choices);
  at("field").parentNode.hidden = !choices.length;
  at("choose").replaceChildren(...columns.slice(1).map((column) => {
    const box = make("input", { type: "checkbox", checked: !hidden.has(column.key) });
    box.onchange = () => {
      if (box.checked) hidden.delete(column.key);
      else hidden.add(column.key);
      kept("sessionStorage", `columns ${document.title}`, [...hidden]);
      drawHead();
      drawRows(true);
    };
    return make("label", {}, box, column.title);
  }));
}

let printing = false;

function visible() {
  const known = columns.filter((column) => !hidden.has(column.key));
  if (!printing || known.filter((column) => column.criterion !== undefined).length <= PRINTED_CRITERIA) return known;
  return columns.filter((column) => column.key === "verdicts" || (column.criterion === undefined && !hidden.has(column.key)));
}

// On paper all rows are drawn, not only those in view.
function drawForPrint(begins) {
  printing = begins;
  drawHead();
  if (begins) fillRows(at("grid").querySelector("tbody"), 0, Math.min(shown.length, PRINTED));
  else drawRows(true);
}

function drawHead() {
  const table = at("grid").firstElementChild;
  table.style.width = `${visible().reduce((sum, column) => sum + column.width, 0)}px`;
  table.querySelector("colgroup").replaceChildren(...visible().map((column) => {
    const col = make("col");
    col.style.width = `${column.width}px`;
    return col;
  }));
  const sort = address().query.get("sort") ?? "";
  table.tHead.rows[0].replaceChildren(...visible().map((column) => {
    const by = sort.replace(/^-/, "") === column.key ? (sort.startsWith("-") ? "descending" : "ascending") : "none";
    const next = { none: column.key, ascending: `-${column.key}`, descending: "" }[by];
    const arrow = { none: " ↕", ascending: " ↑", descending: " ↓" }[by];
    const head = make("th", { scope: "col", className: column.number ? "n" : "" },
      make("button", { type: "button", title: `Sort by ${column.title}`, onclick: () => go("items", { sort: next, item: "" }) }, column.title + arrow));
    head.setAttribute("aria-sort", by);
    return head;
  }));
}

// Which items

// The conditions of an address: on the item, and on one of its verdicts.
function conditions(query) {
  const ofItem = [], ofVerdict = [], of = (name) => query.get(name);
  if (of("field")) ofItem.push(hasField(of("field")));
  for (const name of ["score", "human_score"].filter(of)) {
    const inside = bounds(of(name));
    ofItem.push((entry) => inside(entry[name]));
  }
  const criterion = index.criteria.indexOf(of("criterion")), label = index.labels.indexOf(of("verdict")), bit = ONLY[of("only")];
  if (of("criterion")) ofVerdict.push((verdict) => verdict[0] === criterion);
  if (of("verdict")) ofVerdict.push((verdict) => verdict[1] === label);
  if (bit) ofVerdict.push((verdict) => verdict[2] & bit);
  for (const [place, name] of MORE_FIELDS.entries()) {
    if (!of(name)) continue;
    const inside = name === "human" ? (value) => value === of(name) : bounds(of(name));
    ofVerdict.push((verdict) => inside(verdict[MORE + place]));
  }
  const words = (of("search") ?? "").trim().toLowerCase();
  if (words) ofItem.push((entry) => has(entry, words));
  if (ofVerdict.length) ofItem.push((entry) => entry.verdicts.some((verdict) => ofVerdict.every((holds) => holds(verdict))));
  return ofItem;
}

function bounds(text) {
  const [low, high] = text.split("~");
  if (high === undefined) return (value) => typeof value === "number" && Number((value + 1e-9).toFixed(2)) === Number(low);
  return (value) => typeof value === "number" && (!low || value >= Number(low)) && (!high || value < Number(high));
}

function hasField(choice) {
  let field, value;
  try { [field, value] = JSON.parse(choice); } catch { return () => true; /* an address that somebody wrote */ }
  return (entry) => entry.metadata[field] === value || (field === "tag" && entry.tags.includes(value));
}

// What came from a chart has no field of its own above the grid, so each has a button that removes it.
function showBehind(query) {
  at("behind").replaceChildren(...Object.keys(BEHIND).filter((name) => query.get(name)).map((name) => {
    const [low, high] = query.get(name).split("~").map((end) => (name !== "human" && end ? String(Number(Number(end).toPrecision(3))) : end));
    const words = high === undefined ? low : low && high ? `${low} to ${high}` : low ? `${low} or more` : high ? `below ${high}` : "any";
    return make("button", { type: "button", className: "small", onclick: () => go("items", { [name]: "", item: "" }) }, `${BEHIND[name]}: ${words} ✕`);
  }));
}

// The items of the address. Their rows are drawn unless an item is shown; `back` is the item that was.
function list(back) {
  const { query } = address();
  for (const field of FIELDS) if (at(field) && document.activeElement !== at(field)) at(field).value = query.get(field) ?? "";
  showBehind(query);
  const holds = conditions(query);
  shown = entries.filter((entry) => holds.every((condition) => condition(entry)));
  const sort = query.get("sort") ?? "", column = columns.find((one) => one.key === sort.replace(/^-/, ""));
  if (column) shown = sorted(shown, column.value, sort.startsWith("-") ? -1 : 1);
  const read = Math.round(100 * texts.length / Math.max(1, entries.length));
  at("found").textContent = `${shown.length} of ${entries.length} items` + (needsTexts(query) && read < 100 ? `, looking into the texts: ${read} %` : "");
  at("csv").disabled = !shown.length;
  at("none").hidden = shown.length > 0;
  at("none").firstElementChild.textContent = entries.length ? "No item matches these filters." : "No item is judged yet.";
  at("clear-all").hidden = !entries.length;
  at("grid").hidden = !shown.length;
  if (byId.has(query.get("item"))) return;
  const before = listed, place = shown.indexOf(back);
  listed = String(query);
  drawHead();
  drawRows(true, place >= 0 ? Math.max(0, place - 3) * ROW : listed === before ? undefined : 0);
  if (place >= 0) [...at("grid").querySelectorAll("tbody tr")].find((row) => row.dataset.id === back.id)?.querySelector("a").focus();
}

// The rows

function drawRows(anew = false, top = at("grid").scrollTop) {
  const box = at("grid"), body = box.querySelector("tbody"), height = box.clientHeight;
  const first = Math.max(0, Math.min(Math.floor(top / ROW), shown.length - 1) - SPARE);
  const last = Math.min(shown.length, Math.ceil((top + height) / ROW) + SPARE);
  if (!anew && first >= drawn[0] - SPARE + 5 && last <= drawn[1] + SPARE - 5 && Math.abs(first - drawn[0]) < SPARE - 5) return;
  fillRows(body, first, last);
  if (anew) box.scrollTop = top;
}

function fillRows(body, first, last) {
  const focused = body.contains(document.activeElement) ? document.activeElement.closest("tr").dataset.id : null;
  drawn = [first, last];
  const shownColumns = visible();
  body.replaceChildren(gap(first), ...shown.slice(first, last).map((entry, number) => rowOf(entry, first + number, shownColumns)), gap(shown.length - last));
  body.parentNode.setAttribute("aria-rowcount", shown.length + 1);
  if (focused !== null) [...body.rows].find((row) => row.dataset.id === focused)?.querySelector("a").focus({ preventScroll: true });
}

function gap(rows) {
  const row = make("tr", { className: "gap" });
  row.setAttribute("aria-hidden", "true");
  row.style.height = `${rows * ROW}px`;
  return row;
}

function addressOf(id) {
  const query = new URLSearchParams(address().query);
  query.set("item", id);
  return `#/items?${query}`;
}

function rowOf(entry, number, shownColumns) {
  const row = make("tr", {}, ...shownColumns.map((column) => cellOf(entry, column)));
  row.dataset.id = entry.id;
  row.setAttribute("aria-rowindex", number + 2);
  return row;
}

const TONES = { g: "good", b: "bad", h: "half", n: "none" };

function cellOf(entry, column) {
  if (column.key === "item") return make("th", { scope: "row" }, make("a", { href: addressOf(entry.id), title: entry.name }, entry.name));
  if (column.criterion === undefined) {
    const words = String(column.text ? column.text(entry) : column.value(entry) ?? "");
    return make("td", { className: column.number ? "n" : "", title: words, dir: "auto" }, words);
  }
  const verdict = entry.on.get(column.criterion);
  if (!verdict) return make("td", { className: "sub" }, "–");
  const [, label, bits, tone] = verdict, notes = [];
  if (bits & DIFFERS) notes.push("the human label differs");
  if (bits & UNSURE) notes.push("low confidence");
  if (bits & FLIPPED) notes.push("changed in the other run");
  return make("td", { title: [`${column.title}: ${index.labels[label]}`, ...notes].join(", ") },
    make("span", { className: bits & DIFFERS ? "differs" : `answer ${bits & (FAILED | NOT_RUN) ? "failed" : TONES[tone]}` },
      index.labels[label] + (bits & DIFFERS ? " ≠" : "")),
    bits & UNSURE && marksUnsure ? make("span", { className: "sign" }, "?") : null,
    bits & FLIPPED ? make("span", { className: "sign" }, "⇄") : null);
}
