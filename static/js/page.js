// Small habits of every page: theme toggle, menus that close, forms that submit on change.
"use strict";

(() => {
  const YEAR_S = 365 * 24 * 3600;

  function theme() {
    const chosen = document.documentElement.dataset.theme;
    return chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  // The server reads the cookie and writes data-theme itself, so the first paint is already right.
  function toggleTheme() {
    const next = theme() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    document.cookie = `weir_theme=${next};path=/;max-age=${YEAR_S};samesite=lax`;
    document.dispatchEvent(new CustomEvent("weir:theme"));
  }

  // In which zone the browser is only it knows. A page that is to be in it and is not is asked for
  // again, once.
  function sayZone() {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const said = /(?:^|; )weir_browser_zone=([^;]*)/.exec(document.cookie)?.[1];
    if (!zone || said === zone) return;
    document.cookie = `weir_browser_zone=${zone};path=/;max-age=${YEAR_S};samesite=lax`;
    const shown = document.querySelector("[data-zone-choice=local]");
    if (shown && document.cookie.includes(`weir_browser_zone=${zone}`)) location.reload();
  }
  sayZone();

  document.addEventListener("click", (event) => {
    document.querySelectorAll("details.menu[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
    if (event.target.closest("[data-theme-toggle]")) toggleTheme();
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-submit-on-change]");
    if (form) form.requestSubmit();
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.querySelectorAll("details.menu[open]").forEach((menu) => {
      menu.open = false;
    });
  });

  // The address says which filters are in force. After Back a browser shows what was typed before
  // the page was left: it is put right.
  addEventListener("pageshow", (event) => {
    const how = performance.getEntriesByType("navigation")[0]?.type;
    if (!event.persisted && how !== "back_forward") return;
    document.querySelectorAll("form.filters, form.search").forEach((form) => form.reset());
  });

  // A large job graph opens where the pressure comes from.
  document.querySelectorAll(".graph-frame").forEach((frame) => {
    const origin = frame.querySelector("[data-origin]");
    if (!origin || frame.scrollWidth <= frame.clientWidth) return;
    const box = origin.getBoundingClientRect();
    frame.scrollLeft += box.left + box.width / 2 - frame.getBoundingClientRect().left - frame.clientWidth / 2;
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (!document.documentElement.dataset.theme) document.dispatchEvent(new CustomEvent("weir:theme"));
  });
})();
