// Views, addresses and keys.

const VIEWS = ["overview", "items", "changes"];

// What the address says: #/items?search=...&item=...

function address() {
  const [view, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: VIEWS.includes(view) && at(view) ? view : VIEWS.find(at), query: new URLSearchParams(query ?? "") };
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
  if (view === "overview" && stale) return location.reload(); // its figures are those before the labels
  if (view === "items") await showItems(query);
  if (view === "changes") await showFlips(query);
}

async function showItems(query) {
  const wanted = byId.get(query.get("item"));
  list(wanted ? undefined : close());
  if (wanted) await open(wanted);
}

// Keys

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
    a: () => document.querySelector(".verdict.on [data-agree]:not([aria-pressed=true])")?.click(),
    c: () => document.querySelector(".verdict.on .comment")?.focus(),
    Escape: () => current !== null && go("items", { item: "" }),
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
  await readIndex();
  await readLabels();
  prepareGrid();
  prepareChanges();
  let waiting;
  at("search").oninput = () => { // once a frame, however quickly somebody types
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => go("items", { search: at("search").value, item: "" }, true));
  };
  for (const field of ["criterion", "verdict", "only", "field"]) {
    at(field).onchange = () => go("items", { [field]: at(field).value, item: "" });
  }
  at("filters").onsubmit = (event) => event.preventDefault();
  const clear = () => go("items", { ...Object.fromEntries(FIELDS.map((field) => [field, ""])) });
  at("clear").onclick = clear;
  at("clear-all").onclick = clear;
  at("csv").onclick = () => saveCsv().catch((error) => told(error.message, true));
  at("grid").onscroll = () => requestAnimationFrame(() => drawRows());
  at("grid").querySelector("tbody").onclick = (event) => {
    const id = event.target.closest("tr")?.dataset.id;
    if (id !== undefined && !event.target.closest("a") && !String(getSelection())) go("items", { item: id });
  };
  new ResizeObserver(() => { if (!matchMedia("print").matches) drawRows(); }).observe(at("grid")); // also when it is first shown
  addEventListener("beforeprint", () => drawForPrint(true));
  addEventListener("afterprint", () => drawForPrint(false));
  addEventListener("hashchange", show);
  addEventListener("popstate", show);
  document.addEventListener("keydown", key);
  await show();
  if (served?.continues) follow();
  else if (served) addEventListener("focus", readAgain);
  document.body.dataset.ready = "true";
}

begin();
