// The palette: the search of the header, / and Ctrl K open it; what is typed or pasted is looked up,
// arrows choose, Enter opens.
"use strict";

(() => {
  const dialog = document.getElementById("palette");

  const open = () => {
    if (!dialog.open) dialog.showModal();
    dialog.querySelector("textarea").select();
  };

  document.addEventListener("keydown", (event) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const isSlash = event.key === "/" && isPlain && !event.target.closest("input, textarea, select");
    const isK = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey;
    if (!dialog || !(isSlash || isK)) return;
    event.preventDefault();
    open();
  });

  document.addEventListener("submit", (event) => {
    if (!dialog || !event.target.matches("[data-finds]")) return;
    event.preventDefault();
    open();
  });

  function choose(frame, step) {
    const links = [...frame.querySelectorAll(".found a")];
    if (!links.length) return;
    const now = links.indexOf(document.activeElement);
    const next = now + step;
    if (next < 0) return frame.querySelector("textarea").focus();
    links[Math.min(next, links.length - 1)].focus();
  }

  document.querySelectorAll("#palette, [data-palette]").forEach((frame) => {
    const field = frame.querySelector("textarea");
    let isAwaited = false; // Enter came before the answer to what was typed last.

    const openFirst = () => {
      const first = frame.querySelector(".found a");
      if (first) location.assign(first.href);
    };

    field.addEventListener("input", () => {
      field.dataset.asked = "1";
    });
    frame.addEventListener("htmx:afterSwap", () => {
      delete field.dataset.asked;
      if (isAwaited) openFirst();
      isAwaited = false;
    });
    frame.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        choose(frame, event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key === "Enter" && event.target === field && !event.shiftKey) {
        event.preventDefault();
        if (field.dataset.asked) isAwaited = true;
        else openFirst();
      }
    });
  });
})();
