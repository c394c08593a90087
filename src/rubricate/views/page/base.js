"use strict";
// What all pages share: making elements, whose texts are never markup, and colours.

const at = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Read what the browser keeps in a storage under a name, or keep a value there, if it keeps anything.
function kept(storage, name, value) {
  try {
    if (value === undefined) return JSON.parse(window[storage].getItem(name));
    window[storage].setItem(name, JSON.stringify(value));
  } catch { /* a page from a file may have nowhere to keep it */ }
  return null;
}

const THEMES = { "": "as the system", light: "light", dark: "dark" };

function theme(next) {
  if (next !== undefined) kept("localStorage", "rubricate-theme", next);
  else next = kept("localStorage", "rubricate-theme") ?? "";
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  at("theme").setAttribute("aria-label", `Colours: ${THEMES[next] ?? next}`);
}

function turnTheme() {
  const names = Object.keys(THEMES), now = document.documentElement.dataset.theme ?? "";
  theme(names[(names.indexOf(now) + 1) % names.length]);
}
