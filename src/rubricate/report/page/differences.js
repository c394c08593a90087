// How two texts differ, word by word (Myers 1986, "An O(ND) Difference Algorithm").

const MOST_DIFFERENCES = 1000; // twice as many take four times the memory, and nobody reads them

// Pieces [kind, text], kind "same", "del" or "ins"; null where the texts differ in too many words.
function differences(before, after) {
  const [a, b] = [before, after].map((text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
  let first = 0, last = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first += 1;
  while (last < a.length - first && last < b.length - first && a.at(-1 - last) === b.at(-1 - last)) last += 1;
  const middle = between(a.slice(first, a.length - last), b.slice(first, b.length - last));
  if (!middle) return null;
  const ends = [a.slice(0, first), last ? a.slice(-last) : []].map((words) => ["same", words.join("")]);
  const pieces = [];
  for (const [kind, words] of [ends[0], ...middle, ends[1]]) {
    if (pieces.at(-1)?.[0] === kind) pieces.at(-1)[1] += words;
    else if (words) pieces.push([kind, words]);
  }
  return pieces;
}

function between(a, b) {
  const steps = []; // of each number of differences, how far each diagonal gets
  let reach = new Map([[1, 0]]);
  for (let count = 0; count <= Math.min(a.length + b.length, MOST_DIFFERENCES); count += 1) {
    steps.push(new Map(reach));
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      const down = diagonal === -count || (diagonal !== count && reach.get(diagonal - 1) < reach.get(diagonal + 1));
      let x = down ? reach.get(diagonal + 1) : reach.get(diagonal - 1) + 1;
      while (x < a.length && x - diagonal < b.length && a[x] === b[x - diagonal]) x += 1;
      reach.set(diagonal, x);
      if (x >= a.length && x - diagonal >= b.length) return traced(a, b, steps);
    }
  }
  return null;
}

function traced(a, b, steps) {
  const pieces = [];
  let x = a.length, y = b.length;
  for (let count = steps.length - 1; count >= 0; count -= 1) {
    const reach = steps[count], diagonal = x - y;
    const down = diagonal === -count || (diagonal !== count && reach.get(diagonal - 1) < reach.get(diagonal + 1));
    const from = down ? diagonal + 1 : diagonal - 1, start = reach.get(from);
    while (x > start && y > start - from) {
      pieces.push(["same", a[x - 1]]);
      x -= 1;
      y -= 1;
    }
    if (!count) break;
    if (down) pieces.push(["ins", b[y -= 1]]);
    else pieces.push(["del", a[x -= 1]]);
  }
  return pieces.reverse();
}

function differencesBox(before, after) {
  const pieces = differences(before, after);
  if (!pieces) return make("p", { className: "sub" }, "The texts differ in too many words to show them one by one.");
  return make("div", { className: "text long", tabIndex: 0, role: "group", ariaLabel: "Word differences" },
    ...pieces.map(([kind, words]) => (kind === "same" ? words : make(kind, {}, words))));
}
