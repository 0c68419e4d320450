// Draws the charts of a report file from the data in it. Nothing is fetched: the file's own policy forbids it.
"use strict";

(() => {
  const TOKEN = /^var\((--[a-z0-9-]+)\)$/;
  const CONFIG = { displayModeBar: false, responsive: true, doubleClick: "reset", showTips: false, topojsonURL: "" };
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const charts = [...document.querySelectorAll("[data-figure]")].filter((chart) => figures[chart.dataset.figure]);

  function withColours(value, styles) {
    if (typeof value === "string") {
      const token = TOKEN.exec(value);
      return token ? styles.getPropertyValue(token[1]).trim() || value : value;
    }
    if (Array.isArray(value)) return value.map((item) => withColours(item, styles));
    if (value === null || typeof value !== "object" || "bdata" in value) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withColours(item, styles)]));
  }

  function draw(chart) {
    const styles = getComputedStyle(root);
    const figure = figures[chart.dataset.figure];
    const layout = withColours(figure.layout, styles);
    const data = withColours(figure.data, styles);
    const shared = layout.meta || {};
    data.filter((trace) => trace.meta in shared).forEach((trace) => Object.assign(trace, shared[trace.meta]));
    chart.dataset.state = "drawn";
    return Plotly.react(chart, data, layout, CONFIG);
  }

  charts.forEach((chart) => {
    chart.replaceChildren();
    draw(chart);
    chart.on("plotly_clickannotation", (event) => {
      if (/^#finding-[0-9]+$/.test(event.annotation.name || "")) location.hash = event.annotation.name;
    });
  });

  const toggle = document.querySelector("[data-theme-toggle]");
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    charts.forEach(draw);
  });

  // On paper everything is open, light and as wide as the sheet.
  let before;
  addEventListener("beforeprint", () => {
    before = { theme: root.dataset.theme, closed: [...document.querySelectorAll("details:not([open])")] };
    root.dataset.theme = "light";
    before.closed.forEach((details) => { details.open = true; });
    charts.forEach((chart) => { draw(chart); Plotly.relayout(chart, { width: 650 }); });
  });
  addEventListener("afterprint", () => {
    if (before.theme) root.dataset.theme = before.theme; else delete root.dataset.theme;
    before.closed.forEach((details) => { details.open = false; });
    charts.forEach((chart) => { draw(chart); Plotly.relayout(chart, { autosize: true }); });
  });
})();
