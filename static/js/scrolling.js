// What scrolls must be reachable by keyboard; what fits must not cost a key press. On pages and in
// report files alike.
"use strict";

(() => {
  const scrolls = (box) => box.scrollWidth > box.clientWidth ||
    box.scrollHeight > box.clientHeight + 1;

  function reachScrolling() {
    document.querySelectorAll(".scroll, details pre, details > dl.facts").forEach((box) => {
      if (scrolls(box)) {
        box.tabIndex = 0;
        if (box.tagName === "DL") return; // With another role it would be no list any more.
        if (!box.hasAttribute("role")) box.setAttribute("role", "group");
        const caption = box.querySelector("caption") ||
          box.closest("details, section")?.querySelector("summary, h2, h3");
        if (!box.hasAttribute("aria-label") && caption)
          box.setAttribute("aria-label", caption.textContent.trim());
      } else if (!box.matches(".payload")) box.removeAttribute("tabindex");
    });
  }

  new ResizeObserver(reachScrolling).observe(document.body);
})();
