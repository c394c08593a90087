// The list of runs: two of them are chosen to be compared, the older one first.

function chosen() {
  return [...document.querySelectorAll("tbody input:checked")].map((box) => box.value);
}

function addressOf([compare, run]) { // the table has the newest first
  return `run?${new URLSearchParams({ run, compare })}`;
}

// The server reads both runs before there is a button to press: it may find that they cannot be compared.
async function choose() {
  const runs = chosen(), two = runs.length === 2;
  at("compare").disabled = true;
  at("chosen").textContent = two ? "Reading both runs …" : `Choose two runs to compare them${runs.length ? `; ${runs.length} chosen` : ""}.`;
  if (!two) return;
  const response = await fetch(addressOf(runs)), page = await response.text();
  if (String(chosen()) !== String(runs)) return; // others are chosen by now
  at("compare").disabled = !response.ok;
  at("chosen").textContent = response.ok ? "" : `These cannot be compared: ${new DOMParser().parseFromString(page, "text/html").getElementById("problem").textContent}`;
}

theme();
at("theme").onclick = turnTheme;
if (at("compare")) {
  for (const box of document.querySelectorAll("tbody input")) box.onchange = choose;
  choose();
  at("search").oninput = () => {
    const words = at("search").value.trim().toLowerCase();
    for (const run of document.querySelectorAll("tbody")) run.hidden = !run.textContent.toLowerCase().includes(words);
  };
  at("filters").onsubmit = (event) => event.preventDefault();
  at("compare").onclick = () => { location.href = `${addressOf(chosen())}#/changes`; };
}
document.body.dataset.ready = "true";
