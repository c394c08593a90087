// The items of the grid as a CSV file, with whole texts: the columns of `rubricate export`, and reasons.

async function saveCsv() {
  const rows = shown, chosen = new Set(rows), lines = new Map();
  const verdicts = rows.flatMap((entry) => entry.verdicts), labelled = verdicts.some(([, , bits]) => bits & LABELLED);
  const criteria = [...new Set(verdicts.map(([number]) => number))].sort((a, b) => a - b);
  const fields = [...new Set(rows.flatMap((entry) => Object.keys(entry.metadata)))];
  const head = ["item", "description", "prompt", "submission", "reference", "tags", "item_score.value", "human_score",
    ...fields.map((name) => `metadata.${name}`),
    ...criteria.flatMap((number) => ["verdict", ...(labelled ? ["human_label"] : []), "reason"].map((part) => `${part}.${index.criteria[number]}`))];
  for (const part of new Set(rows.map((entry) => entry.part))) {
    for (const item of await unpack(`items-${part}`)) {
      const entry = byId.get(item.id);
      if (!chosen.has(entry)) continue;
      withLabels(item);
      const on = new Map(item.verdicts.map((verdict, place) => [entry.verdicts[place][0], verdict]));
      lines.set(entry, csvLine([item.id, item.description, item.prompt, item.submission, item.reference, entry.tags, entry.score, item.human_score,
        ...fields.map((name) => entry.metadata[name]),
        ...criteria.map((number) => on.get(number)).flatMap((verdict) => [verdict?.label ?? verdict?.status.replace(" ", "_"),
          ...(labelled ? [verdict?.human_label] : []), verdict?.reason ?? (verdict && problem(verdict))])]));
    }
  }
  const text = ["\ufeff" + csvLine(head), ...rows.map((entry) => lines.get(entry)), ""].join("\r\n"); // Excel reads UTF-8 only with the mark
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  make("a", { href: url, download: `${document.querySelector("h1").textContent.replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(0, 80)}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

// Text that a spreadsheet would run as a formula gets a leading ', as in `spreadsheet_cell` of the export.
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/, NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function csvLine(values) {
  return values.map((value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    const safe = typeof value === "string" && FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(",");
}
