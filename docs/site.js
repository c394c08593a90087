// Tables that are wider than a narrow window scroll: the keyboard has to reach them, too.
window.addEventListener("load", () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
});
