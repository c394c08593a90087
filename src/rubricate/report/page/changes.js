// What changed against another run.

const SOME = 20;
let flipsShown = SOME;

function prepareChanges() {
  if (!at("changes")) return;
  const kinds = new Map();
  index.flips.forEach(([, , a, b]) => kinds.set(`${a} → ${b}`, (kinds.get(`${a} → ${b}`) ?? 0) + 1));
  options(at("flip-kind"), [...kinds].sort((one, other) => other[1] - one[1]).map(([kind, count]) => [kind, `${kind} (${count})`]));
  options(at("flip-criterion"), [...new Set(index.flips.map((flip) => flip[1]))].map((name) => [name]));
  for (const [id, field] of [["flip-kind", "kind"], ["flip-criterion", "criterion"]]) {
    at(id).onchange = () => go("changes", { [field]: at(id).value });
  }
  at("more-flips").onclick = () => { flipsShown += 5 * SOME; showFlips(address().query); };
}

async function showFlips(query) {
  const criterion = query.get("criterion") ?? "", kind = query.get("kind") ?? "";
  at("flip-kind").value = kind;
  at("flip-criterion").value = criterion;
  const places = [...index.flips.keys()].filter((place) => {
    const [, name, a, b] = index.flips[place];
    return (!criterion || name === criterion) && (!kind || `${a} → ${b}` === kind);
  });
  const changed = places.filter((place) => place < index.changed).length;
  at("flips-found").textContent = places.length
    ? `${changed} ${changed === 1 ? "answer" : "answers"} changed` + (changed < places.length ? `, ${places.length - changed} that only one run decided` : "")
    : "No answer changed.";
  const cards = [];
  for (const place of places.slice(0, flipsShown)) {
    const rows = await chunk(`flips-${Math.floor(place / index.flips_in_chunk)}`);
    const [item, name, a, b, reasonA, reasonB, human] = rows[place % index.flips_in_chunk];
    cards.push(make("li", {},
      make("h3", {}, make("a", { href: `#/items?${new URLSearchParams({ item })}` }, item), `, ${name}`, place < index.changed ? "" : " (only one run decided)"),
      human === null ? null : make("p", { className: "sub" }, `human label: ${human}`),
      make("div", { className: "pair" }, side("A", a, reasonA, human === a ? "human" : ""), side("B", b, reasonB, human === b ? "human" : ""))));
  }
  at("flips").replaceChildren(...cards);
  at("more-flips").hidden = places.length <= flipsShown;
}
