// Keyboard: / search, g then a letter goes to a page, j and k walk the rows of the main table, ?
// lists them all.
"use strict";

(() => {
  const GO_WITHIN_MS = 1200;
  let goUntil = 0;

  const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;
  const rows = () => [...document.querySelectorAll("table[data-rows] tbody tr:has(a)")];

  function walk(step) {
    const all = rows();
    if (!all.length) return;
    const now = all.findIndex((row) => row.contains(document.activeElement));
    const next = all[Math.min(Math.max(now + step, 0), all.length - 1)];
    next.querySelector("a").focus();
    next.scrollIntoView({
      block: "nearest"
    });
  }

  function goTo(letter) {
    const link = document.querySelector(`[data-go="${CSS.escape(letter)}"]`);
    if (link) location.assign(link.href);
  }

  const actions = {
    "/": () => document.getElementById("search")?.click(),
    "?": () => document.getElementById("keys-help").showModal(),
    j: () => walk(1),
    k: () => walk(-1),
    t: () => document.querySelector("[data-theme-toggle]").click(),
    z: () => document.querySelector("[data-zone] [aria-pressed=false]")?.click(),
    g: () => {
      goUntil = Date.now() + GO_WITHIN_MS;
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && isTyping(event.target)) return event.target.blur();
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const isGoing = Date.now() < goUntil;
    goUntil = 0;
    if (isGoing) return goTo(event.key);
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
})();
