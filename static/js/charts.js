// Draws the figures of a page. A figure comes as JSON from the address in data-chart.
"use strict";

(() => {
  let charts = [...document.querySelectorAll("[data-chart]")];
  const figures = new Map();

  function say(chart, title, text) {
    const message = document.createElement("div");
    message.className = "empty small";
    const heading = document.createElement("b");
    heading.textContent = title;
    message.append(heading, text);
    chart.replaceChildren(message);
    // Of an image only its name is read; this text has to be.
    chart.setAttribute("role", "group");
    chart.dataset.state = "empty";
  }

  function draw(chart) {
    const figure = figures.get(chart);
    if (figure.layout.height) chart.style.height = `${figure.layout.height}px`;
    return drawFigure(chart, figure);
  }

  async function load(chart) {
    chart.dataset.state = "loading";
    try {
      const response = await fetch(chart.dataset.chart, {
        headers: {
          Accept: "application/json"
        },
        credentials: "same-origin"
      });
      if (!response.ok) throw new Error(translated("The server answered {status}.", {
        status: response.status
      }));
      const answer = await response.json();
      const note = document.getElementById(chart.dataset.note || "");
      if (note) note.textContent = answer.note;
      if (!answer.figure) return say(chart, answer.empty.title, answer.empty.text);
      chart.replaceChildren();
      figures.set(chart, answer.figure);
      chart.setAttribute("role", "img");
      await draw(chart);
      chart.on("plotly_click", open);
      chart.on("plotly_clickannotation", (event) => {
        if (/^\/(findings|jobs)\//.test(event.annotation.name || "")) location.assign(event.annotation.name);
      });
      chart.on("plotly_relayout", (change) => follow(chart, change));
      chart.on("plotly_doubleclick", () => {
        if (zoomed) history.back();
      });
      chart.dataset.state = "drawn";
    } catch (error) {
      const advice = translated("{problem} Reload the page to try again.", {
        problem: error.message
      });
      say(chart, translated("This chart could not be drawn"), advice);
      chart.dataset.state = "failed";
    }
  }

  const loads = new Map();

  function loadOnce(chart) {
    seen.unobserve(chart);
    if (!loads.has(chart)) loads.set(chart, load(chart));
    return loads.get(chart);
  }

  function open(event) {
    const isOfJob = (data) => typeof data === "string" && data.startsWith("/jobs/");
    const url = event.points.map((point) => point.customdata).find(isOfJob);
    if (url) location.assign(url);
  }

  // All charts of a page show the same time: zooming one zooms the others.
  let following = false;

  function follow(source, change) {
    const ends = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    const range = change["xaxis.range"] || (ends[0] && ends);
    if (following || (!range && !change["xaxis.autorange"])) return;
    following = true;
    const others = [...figures.keys()].filter((chart) => chart !== source && chart.dataset.axis === "time");
    Promise.all(others.map((chart) => Plotly.relayout(chart, {
        "xaxis.range": range || figures.get(chart).layout.xaxis.range
      })))
      .finally(() => {
        following = false;
      });
    if (range) choose(source, range);
  }

  // What is zoomed in on becomes the range of the page, with its tables and links; a double click
  // goes back to the one before.
  const ZOOM = "weir-zoom";
  const here = location.pathname + location.search;
  const kept = JSON.parse(sessionStorage.getItem(ZOOM) || "null");
  const zoomed = kept !== null && kept.to === here;
  if (zoomed && kept.y !== null) {
    scrollTo(0, kept.y);
    sessionStorage.setItem(ZOOM, JSON.stringify({
      to: here,
      y: null
    }));
  }

  // The clock of the axis may be that of another zone.
  const instantIn = (figure) => (text) =>
    Date.parse(`${String(text).replace(" ", "T")}Z`) - (figure.layout.meta?.utc_offset_ms || 0);
  const seconds = (ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

  function choose(chart, range) {
    if (chart.dataset.axis !== "time" || !document.querySelector(".range")) return;
    const instant = instantIn(figures.get(chart));
    const [from, to] = range.map(instant);
    const drawn = (figures.get(chart).layout.xaxis.range || []).map(instant);
    if (!(to > from) || (from === drawn[0] && to === drawn[1])) return;
    const address = new URL(location.href);
    ["cursor", "checkpoints", "events", "after"].forEach((place) => address.searchParams.delete(place));
    address.searchParams.set("from", seconds(from));
    address.searchParams.set("to", seconds(Math.max(to, from + 1_000) + 999));
    sessionStorage.setItem(ZOOM, JSON.stringify({
      to: address.pathname + address.search,
      y: scrollY
    }));
    location.assign(address);
  }

  // Charts of the present come again with the page; one that the reader has zoomed stays as it is.
  async function renew(chart) {
    const range = chart.layout && chart.layout.xaxis && chart.layout.xaxis.range;
    const drawn = figures.get(chart).layout.xaxis && figures.get(chart).layout.xaxis.range;
    if (range && drawn && range.some((end, place) => new Date(end) - new Date(drawn[place]))) return;
    const response = await fetch(chart.dataset.chart, {
      headers: {
        Accept: "application/json"
      },
      credentials: "same-origin"
    });
    const answer = response.ok ? await response.json() : {};
    if (!answer.figure) return;
    const note = document.getElementById(chart.dataset.note || "");
    if (note) note.textContent = answer.note;
    figures.set(chart, answer.figure);
    await draw(chart);
  }
  document.addEventListener("weir:refreshed", () => {
    for (const chart of figures.keys()) renew(chart).catch(() => {});
  });

  // Only what was in view is drawn: a press of Ctrl P waits for the rest. A browser's own menu
  // prints what there is.
  const allDrawn = () => charts.filter((chart) => figures.has(chart));
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "p" || event.shiftKey || event.altKey) return;
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (!event.repeat) Promise.all(charts.map(loadOnce)).finally(() => print());
  });
  let themeBefore;
  addEventListener("beforeprint", () => {
    themeBefore = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    allDrawn().forEach((chart) => onPaper.draw(chart, draw));
  });
  addEventListener("afterprint", () => {
    if (themeBefore) document.documentElement.dataset.theme = themeBefore;
    else delete document.documentElement.dataset.theme;
    allDrawn().forEach((chart) => onPaper.restore(chart, draw));
  });

  document.addEventListener("weir:theme", () => figures.forEach((_figure, chart) => draw(chart)));

  const seen = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => loadOnce(entry.target));
  }, {
    rootMargin: "400px"
  });
  const observe = (added) => added.forEach((chart) => seen.observe(chart));
  observe(charts);
  // A part of the page that comes later brings charts of its own; those of the part that it
  // replaces are gone.
  document.addEventListener("htmx:load", ({
    detail
  }) => {
    const added = [...detail.elt.querySelectorAll("[data-chart]")].filter((chart) => !charts.includes(chart));
    charts = [...charts.filter((chart) => chart.isConnected), ...added];
    [...figures.keys()].filter((chart) => !chart.isConnected).forEach((chart) => figures.delete(chart));
    observe(added);
  });
})();
