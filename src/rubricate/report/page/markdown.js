// Markdown as elements. They are made of pieces of the text itself, by their places in it, so that
// quotes are marked in both views; HTML in it stays text, and links and images load nothing.

const LOOKS_LIKE_MARKDOWN = /^(#{1,6} |\s*([-*+]|\d{1,3}[.)]) \S|```|>|\|.*\|)|\*\*\S/m;
const DEEPEST = 12; // lists and quotes within each other; what is deeper stays text

// A function that appends text[from..to) to an element, with marks over the given spans.
function painter(text, spans, mark) {
  return (parent, from, to) => {
    const over = spans.filter((span) => span.start < to && span.end > from);
    const edges = new Set([from, to]);
    for (const { start, end } of over) edges.add(Math.max(start, from)).add(Math.min(end, to));
    const cuts = [...edges].sort((a, b) => a - b);
    for (let place = 0; place + 1 < cuts.length; place += 1) {
      const [start, end] = [cuts[place], cuts[place + 1]];
      const here = over.filter((span) => span.start <= start && end <= span.end);
      parent.append(here.length ? mark(here, text.slice(start, end)) : text.slice(start, end));
    }
  };
}

function linesOf(text) {
  const lines = [];
  for (let from = 0; from <= text.length;) {
    let to = text.indexOf("\n", from);
    if (to < 0) to = text.length;
    lines.push([from, to]);
    from = to + 1;
  }
  return lines;
}

function markdown(text, paint, box) {
  blocks(text, linesOf(text), paint, box, 0);
}

const FENCE = /^ {0,3}(```+|~~~+)/, HEADING = /^ {0,3}(#{1,6})\s+/, RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/, ITEM = /^( {0,12})([-*+]|\d{1,9}[.)])( +|$)/;
const DASHES = /^[\s|:-]*-[\s|:-]*$/;

function blocks(text, lines, paint, box, depth) {
  const words = lines.map(([from, to]) => text.slice(from, to));
  const plain = (number) => !words[number].trim() || [FENCE, HEADING, RULE, QUOTE, ITEM].some((form) => form.test(words[number])) || isTable(number);
  const isTable = (number) => words[number].includes("|") && words[number + 1]?.includes("|") && DASHES.test(words[number + 1]);
  for (let at = 0; at < lines.length;) {
    const line = words[at], [from, to] = lines[at];
    let end = at + 1, found;
    if (!line.trim()) { at = end; continue; }
    if ((found = FENCE.exec(line))) {
      while (end < lines.length && !words[end].trim().startsWith(found[1])) end += 1;
      const code = make("pre", {});
      for (const [start, stop] of lines.slice(at + 1, end)) paint(code, start, Math.min(stop + 1, text.length));
      box.append(code);
      at = end + 1;
      continue;
    }
    if ((found = HEADING.exec(line))) {
      inline(text, from + found[0].length, to, paint, box.appendChild(make("p", { className: `heading h${found[1].length}` })));
    } else if (RULE.test(line)) {
      box.append(make("hr"));
    } else if (isTable(at)) {
      end = at + 2;
      while (end < lines.length && words[end].includes("|")) end += 1;
      box.append(tableOf(text, [lines[at], ...lines.slice(at + 2, end)], paint));
    } else if (QUOTE.test(line) && depth < DEEPEST) {
      while (end < lines.length && QUOTE.test(words[end])) end += 1;
      const inner = lines.slice(at, end).map(([start, stop], place) => [start + QUOTE.exec(words[at + place])[0].length, stop]);
      blocks(text, inner, paint, box.appendChild(make("blockquote")), depth + 1);
    } else if ((found = ITEM.exec(line)) && depth < DEEPEST) {
      const items = box.appendChild(make(/\d/.test(found[2]) ? "ol" : "ul"));
      if (items.tagName === "OL") items.start = parseInt(found[2], 10);
      const edge = found[1].length;
      for (end = at; end < lines.length;) {
        found = ITEM.exec(words[end]);
        if (!found || found[1].length !== edge) break;
        const inside = found[0].length, inner = [[lines[end][0] + inside, lines[end][1]]];
        for (end += 1; end < lines.length; end += 1) { // indented lines, or blank ones before such
          const indent = words[end].search(/\S/);
          if (indent < 0 ? !(words[end + 1]?.search(/\S/) > edge) : indent <= edge) break;
          inner.push([lines[end][0] + Math.max(0, Math.min(inside, indent)), lines[end][1]]);
        }
        blocks(text, inner, paint, items.appendChild(make("li")), depth + 1);
        while (end + 1 < lines.length && !words[end].trim() && ITEM.exec(words[end + 1])?.[1].length === edge) end += 1;
      }
    } else {
      while (end < lines.length && !plain(end)) end += 1;
      const paragraph = box.appendChild(make("p"));
      lines.slice(at, end).forEach(([start, stop], place) => {
        if (place) paint(paragraph, lines[at + place - 1][1], lines[at + place - 1][1] + 1); // the line's end
        inline(text, start, stop, paint, paragraph);
      });
    }
    at = end;
  }
}

function tableOf(text, rows, paint) {
  const table = make("table", {});
  rows.forEach(([from, to], number) => {
    const row = table.appendChild(make("tr"));
    const line = text.slice(from, to), bars = [...line.matchAll(/(?<!\\)\|/g)].map((bar) => bar.index);
    const edges = [line.trimStart().startsWith("|") ? null : -1, ...bars, line.trimEnd().endsWith("|") ? null : line.length].filter((edge) => edge !== null);
    for (let cell = 0; cell + 1 < edges.length; cell += 1) {
      inline(text, from + edges[cell] + 1, from + edges[cell + 1], paint, row.appendChild(make(number ? "td" : "th")));
    }
  });
  return make("div", { className: "sheet", tabIndex: 0, role: "group", ariaLabel: "Table" }, table);
}

const INLINE = /`([^`\n]{1,2000})`|\*\*(?=\S)([^\n]{1,2000}?)\*\*|(?<![\w*])\*(?=[^\s*])([^*\n]{1,1000})\*(?![\w*])|!?\[([^\]\n]{0,500})\]\(([^)\s]{1,2000})[^)\n]{0,200}\)|\\([\\`*_{}[\]()#+.!|>-])/gd;

function inline(text, from, to, paint, box) {
  const piece = text.slice(from, to);
  let done = 0;
  for (const found of piece.matchAll(INLINE)) {
    paint(box, from + done, from + found.index);
    const [, code, strong, emphasis, link, target] = found.indices;
    const part = (place, tag, whole) => {
      const inner = box.appendChild(make(tag));
      if (whole) paint(inner, from + place[0], from + place[1]);
      else inline(text, from + place[0], from + place[1], paint, inner);
    };
    if (code) part(code, "code", true);
    else if (strong) part(strong, "strong");
    else if (emphasis) part(emphasis, "em");
    else if (link) {
      part(link, "u");
      box.append(" (");
      part(target, "span", true);
      box.append(")");
    } else paint(box, from + found.index + 1, from + found.index + 2);
    done = found.index + found[0].length;
  }
  paint(box, from + done, to);
}
