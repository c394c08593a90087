// Where the page's data come from: packed elements of the file, or the server that served the page.

const served = document.body.dataset.query === undefined ? null : document.body.dataset;

// Ask the server about this run. What it refuses is an error with its words.
async function ask(what, query = {}) {
  const response = await fetch(`${what}?${served.query}&${new URLSearchParams(query)}`);
  if (response.ok) return response;
  const type = response.headers.get("Content-Type") ?? "";
  throw new Error(type.startsWith("application/json") ? (await response.json()).error : `${response.status}`);
}

async function unpack(name) {
  const packed = served ? (await ask("data", { name, version: served.version })).body
    : new Blob([Uint8Array.from(atob(at(name).textContent), (letter) => letter.charCodeAt(0))]).stream();
  return new Response(packed.pipeThrough(new DecompressionStream("deflate-raw"))).json();
}

const unpacked = new Map(); // the chunks that were looked at last

function chunk(name) {
  const known = unpacked.get(name) ?? unpack(name);
  unpacked.delete(name);
  unpacked.set(name, known);
  if (unpacked.size > 16) unpacked.delete(unpacked.keys().next().value);
  return known;
}

// The index: an entry for each item, with its verdicts as [criterion, label, bits, tone].

const FAILED = 1, ABSTAINED = 2, NOT_APPLICABLE = 4, DIFFERS = 8, UNSURE = 16, FLIPPED = 32, LABELLED = 64, NOT_RUN = 128;
let index, entries = [], byId = new Map();

async function readIndex() {
  unpacked.clear();
  index = await unpack("index");
  const named = new Map(); // descriptions that several items have tell none of them apart
  for (const [, description] of index.entries) named.set(description, (named.get(description) ?? 0) + 1);
  entries = index.entries.map(([id, description, score, figure, verdicts, part, prompt, text, metadata, tags], place) => ({
    place, id, description, score, figure, verdicts, part, prompt, text, metadata, tags,
    name: named.get(description) === 1 && description ? description : id, on: new Map(verdicts.map((verdict) => [verdict[0], verdict])),
  }));
  byId = new Map(entries.map((entry) => [entry.id, entry]));
  readTexts();
}

async function itemOf(entry) {
  const items = await chunk(`items-${entry.part}`);
  return items.find((item) => item.id === entry.id);
}

async function sentOf(entry) {
  const items = await chunk(`items-${entry.part}`), sent = await chunk(`sent-${entry.part}`);
  return sent[items.findIndex((item) => item.id === entry.id)];
}

// Texts to search in, in lower case, by the items' places. They are read once, after the page is shown.

let texts = [];

async function readTexts() {
  const mine = texts = [];
  const parts = entries.length ? entries.at(-1).part + 1 : 0;
  for (let number = 0; number < parts; number += 1) {
    await new Promise((next) => (window.requestIdleCallback ?? setTimeout)(next)); // after what the user does
    const items = await unpack(`items-${number}`);
    if (mine !== texts) return; // the index was read again
    for (const item of items) {
      addMore(entries[mine.length], item);
      mine.push(searchable(item));
    }
    if (needsTexts(address().query) && (number % 8 === 7 || number === parts - 1)) list();
  }
}

// What an item's entry lacks for the filters of charts: they are found as soon as they are read.
const MORE = 4, MORE_FIELDS = ["human", "human_value", "value", "probability_met", "seconds"];
const needsTexts = (query) => ["search", "human_score", ...MORE_FIELDS].some((name) => query.get(name));

function addMore(entry, item) {
  withLabels(item);
  entry.human_score = item.human_score;
  item.verdicts.forEach((verdict, place) => entry.verdicts[place].push(
    verdict.human_label, verdict.human_value, verdict.value, verdict.probability_met, verdict.seconds));
}

function searchable(item) {
  return [item.id, item.description, item.submission, item.prompt, item.reference, item.other,
    ...item.verdicts.flatMap((verdict) => [verdict.reason, problem(verdict)])]
    .filter(Boolean).join("\n").toLowerCase();
}

function has(entry, words) {
  return (texts[entry.place] ?? `${entry.id}\n${entry.description}`.toLowerCase()).includes(words);
}

const problem = (verdict) => (verdict.error ? `${verdict.error.kind.replaceAll("_", " ")}: ${verdict.error.message}` : null);
