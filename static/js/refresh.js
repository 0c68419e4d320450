// Pages of the present bring themselves up to date: fetched again every 30 s and put in place piece
// by piece, so that focus, scroll, open details and drawn charts stay. Not while the reader pauses
// it or has something half done.
"use strict";

(() => {
  const EVERY_MS = 30_000;
  const PAUSED = "weir-refresh-paused";
  const PIECES = ["main", "footer", "state-of-data", "navigation", "range"];
  const main = document.getElementById("main");
  const toggle = document.querySelector("[data-refresh-toggle]");
  if (!main || !toggle) return;
  const isLive = () => main.hasAttribute("data-refresh");

  let shownAt = new Date();
  let isBusy = false;
  const isPaused = () => sessionStorage.getItem(PAUSED) === "1";

  // A state that the page came with is no entry of the reader.
  const isChosen = (option) => option.selected !== option.defaultSelected;
  const isEntered = (field) =>
    field.type === "checkbox" || field.type === "radio" ? field.checked !== field.defaultChecked :
    field.tagName === "SELECT" ? [...field.options].some(isChosen) && document.activeElement === field :
    field.type !== "hidden" && field.value !== field.defaultValue;

  function waitsFor() {
    if (isPaused()) return translated("paused");
    if (document.querySelector("dialog[open], main details.menu[open]")) return translated("a menu is open");
    if ([...main.querySelectorAll("input, textarea, select")].some(isEntered))
      return translated("this page has entries that are not sent");
    const selection = getSelection();
    if (selection && !selection.isCollapsed && main.contains(selection.anchorNode))
      return translated("text is selected");
    return "";
  }

  const clock = (at) => {
    const zone = document.querySelector("[data-zone]")?.dataset.zone || "UTC";
    return at.toLocaleTimeString("en-GB", {
      timeZone: zone,
      timeZoneName: "longOffset"
    }).replace(/GMT(?=[+-])/, "").replace(/GMT$/, zone === "UTC" ? "UTC" : "+00:00");
  };

  function say(why) {
    const old = document.getElementById("refresh-state");
    if (!why) return old && old.remove();
    const banner = old || document.createElement("div");
    banner.id = "refresh-state";
    banner.className = "banner unknown";
    banner.setAttribute("role", "status");
    const heading = document.createElement("b");
    heading.textContent = translated("■ Not refreshed");
    const text = document.createElement("p");
    text.textContent = translated("since {clock}: {why}.", {
      clock: clock(shownAt),
      why
    });
    banner.replaceChildren(heading, text);
    if (!old) main.before(banner);
  }

  // Charts draw themselves, from the address that the page has; what a click opened, or htmx fetched
  // once it came into view, is not in the page that the server sends.
  const stays = (old, fresh) =>
    old.matches("[data-chart], [data-stays], dialog") || fresh.matches("[hx-trigger*=revealed]");

  function morph(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== Node.ELEMENT_NODE) {
      old.nodeValue = fresh.nodeValue;
      return;
    }
    if (stays(old, fresh)) {
      if (fresh.dataset.chart) old.dataset.chart = fresh.dataset.chart;
      return;
    }
    const isOpenState = (name) => name === "open" && old.tagName === "DETAILS";
    for (const {
        name
      }
      of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && !isOpenState(name)) old.removeAttribute(name);
    }
    for (const {
        name,
        value
      }
      of [...fresh.attributes]) {
      if (old.getAttribute(name) !== value && !isOpenState(name)) old.setAttribute(name, value);
    }
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(old.tagName)) return;
    morphChildren(old, fresh);
  }

  // What has an id is the same thing wherever it moves: a row keeps its button. The rest is matched
  // by place.
  function morphChildren(old, fresh) {
    const named = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    let at = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      const key = child.id || "";
      let match = key ? named.get(key) : at;
      while (!key && match && (match.id || match.nodeName !== child.nodeName)) match = match.nextSibling;
      const isSame = match && match.nodeType === child.nodeType && match.nodeName === child.nodeName;
      if (!isSame) {
        old.insertBefore(document.importNode(child, true), at);
        continue;
      }
      if (match === at) at = at.nextSibling;
      else old.insertBefore(match, at);
      morph(match, child);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  // A reader who moved to another range sees it whatever else waits.
  async function refresh(isMoved) {
    const why = isMoved ? "" : waitsFor();
    if (why) return say(why);
    if (!isMoved && (document.hidden || isBusy || !isLive())) return;
    isBusy = true;
    const asked = location.href;
    try {
      const answer = await fetch(asked, {
        credentials: "same-origin",
        headers: {
          Accept: "text/html"
        }
      });
      if (!answer.ok) throw new Error(translated("the server answered {status}", {
        status: answer.status
      }));
      if (new URL(answer.url).pathname !== location.pathname)
        throw new Error(translated("you are signed out; sign in again"));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (asked !== location.href) return;
      const meanwhile = isMoved ? "" : waitsFor();
      if (meanwhile) return say(meanwhile);
      const focused = document.activeElement;
      for (const id of PIECES) {
        const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
        if (old && fresh) morph(old, fresh);
      }
      if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({
        preventScroll: true
      });
      if (window.htmx) htmx.process(main);
      shownAt = new Date();
      say("");
      document.dispatchEvent(new CustomEvent("weir:refreshed"));
    } catch (error) {
      say(error instanceof TypeError ? translated("the server cannot be reached") : error.message);
    } finally {
      isBusy = false;
    }
  }

  function show() {
    toggle.hidden = !isLive();
    toggle.setAttribute("aria-pressed", String(isPaused()));
    toggle.textContent = isPaused() ? "▶" : "❚❚";
    toggle.title = isPaused() ? translated("Refresh this page every 30 s again") :
      translated("Refreshed every 30 s; pause");
    say(isLive() && isPaused() ? translated("paused") : "");
  }

  toggle.addEventListener("click", () => {
    sessionStorage.setItem(PAUSED, isPaused() ? "0" : "1");
    show();
    if (!isPaused()) refresh();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && Date.now() - shownAt > EVERY_MS) refresh();
  });
  document.addEventListener("weir:refresh", () => refresh());
  document.addEventListener("weir:moved", () => refresh(true));
  setInterval(refresh, EVERY_MS);
  show();
})();
