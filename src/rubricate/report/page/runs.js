// The list of runs: two of them are chosen to be compared, the older one first.

function chosen() {
  return [...document.querySelectorAll("tbody input:checked")].map((box) => box.value);
}

function choose() {
  const runs = chosen();
  at("compare").disabled = runs.length !== 2;
  at("chosen").textContent = runs.length === 2 ? "" : `Choose two runs to compare them${runs.length ? `; ${runs.length} chosen` : ""}.`;
}

theme();
at("theme").onclick = turnTheme;
if (at("compare")) {
  for (const box of document.querySelectorAll("tbody input")) box.onchange = choose;
  choose();
  at("compare").onclick = () => {
    const [compare, run] = chosen(); // the table has the newest first
    location.href = `run?${new URLSearchParams({ run, compare })}#/changes`;
  };
}
document.body.dataset.ready = "true";
