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
    explain(chart);
    if ("optional" in chart.dataset) chart.closest("section").hidden = true;
  }

  // The legend beside a chart is of those parts that it has.
  function explain(chart, parts = []) {
    chart.parentElement.querySelectorAll("[data-part]").forEach((entry) => {
      entry.hidden = !parts.includes(entry.dataset.part);
    });
  }

  // A finger scrolls the page over a chart, it does not zoom.
  const DRAGS = matchMedia("(pointer: coarse)").matches ? false : "zoom";

  function draw(chart) {
    const figure = figures.get(chart);
    figure.layout.dragmode = DRAGS;
    if (figure.layout.height) chart.style.height = `${figure.layout.height}px`;
    explain(chart, figure.layout.meta?.parts);
    return drawFigure(chart, figure);
  }

  // The address that each chart was drawn from.
  const drawnFrom = new Map();

  async function ask(chart) {
    const address = chart.dataset.chart;
    const response = await fetch(address, {
      headers: {
        Accept: "application/json"
      },
      credentials: "same-origin"
    });
    if (!response.ok) throw new Error(translated("The server answered {status}.", {
      status: response.status
    }));
    const answer = await response.json();
    if (address !== chart.dataset.chart) return;
    const note = document.getElementById(chart.dataset.note || "");
    if (note) note.textContent = answer.note;
    drawnFrom.set(chart, address);
    if (!answer.figure) {
      if (figures.delete(chart)) Plotly.purge(chart);
      chart.style.height = "";
      return say(chart, answer.empty.title, answer.empty.text);
    }
    const isFirst = !figures.has(chart);
    if (isFirst) chart.replaceChildren();
    figures.set(chart, answer.figure);
    chart.setAttribute("role", "img");
    await draw(chart);
    if (isFirst) listen(chart);
    chart.dataset.state = "drawn";
  }

  function listen(chart) {
    chart.on("plotly_click", open);
    chart.on("plotly_clickannotation", (event) => {
      if (/^\/(findings|jobs)\//.test(event.annotation.name || "")) location.assign(event.annotation.name);
    });
    chart.on("plotly_relayout", (change) => {
      const ends = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      const range = change["xaxis.range"] || (ends[0] && ends);
      if (range) choose(chart, range);
    });
    chart.on("plotly_doubleclick", () => {
      if (history.state?.zoomed) history.back();
    });
  }

  async function load(chart) {
    chart.dataset.state = "loading";
    try {
      await ask(chart);
    } catch (error) {
      const advice = translated("{problem} Reload the page to try again.", {
        problem: error.message
      });
      say(chart, translated("This chart could not be drawn"), advice);
      chart.dataset.state = "failed";
    }
  }

  function open(event) {
    const isOfJob = (data) => typeof data === "string" && data.startsWith("/jobs/");
    const url = event.points.map((point) => point.customdata).find(isOfJob);
    if (url) location.assign(url);
  }

  // The clock of the axis may be that of another zone.
  const instantIn = (figure) => (text) =>
    Date.parse(`${String(text).replace(" ", "T")}Z`) - (figure.layout.meta?.utc_offset_ms || 0);
  const seconds = (ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

  // What is zoomed in on becomes the range of the page, which stays: refresh.js brings its tables,
  // links and the addresses of its charts. Back and a double click lead to the range before.
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
    history.pushState({
      zoomed: true
    }, "", address);
    follow();
  }

  let shown = location.search;

  function follow() {
    shown = location.search;
    document.dispatchEvent(new CustomEvent("weir:moved"));
  }
  addEventListener("popstate", () => {
    if (location.search !== shown) follow();
  });

  // Charts of the present come again with the page; one that the reader has zoomed stays as it is.
  function isZoomed(chart) {
    const range = chart.layout?.xaxis?.range;
    const drawn = figures.get(chart)?.layout.xaxis?.range;
    return range && drawn && range.some((end, place) => new Date(end) - new Date(drawn[place]));
  }
  document.addEventListener("weir:refreshed", () => {
    for (const [chart, address] of drawnFrom) {
      if (chart.dataset.chart !== address || !isZoomed(chart)) ask(chart).catch(() => {});
    }
  });

  document.addEventListener("weir:theme", () => figures.forEach((_figure, chart) => draw(chart)));

  const seen = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach(({
      target
    }) => {
      seen.unobserve(target);
      load(target);
    });
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
    [...drawnFrom.keys()].filter((chart) => !chart.isConnected).forEach((chart) => {
      figures.delete(chart);
      drawnFrom.delete(chart);
    });
    observe(added);
  });
})();
