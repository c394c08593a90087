// Tables that are wider than a narrow window scroll: the keyboard has to reach them, too.
window.addEventListener("load", () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
  // The theme calls the copy button of every block a region of navigation: a reader would hear each.
  for (const nav of document.querySelectorAll(".md-code__nav")) nav.role = "presentation";
});
