// Draws the charts of a report file from the data in it. Nothing is fetched: the file's own policy
// forbids it.
"use strict";

(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const isMade = (chart) => figures[chart.dataset.figure];
  const charts = [...document.querySelectorAll("[data-figure]")].filter(isMade);

  function draw(chart) {
    chart.dataset.state = "drawn";
    return drawFigure(chart, figures[chart.dataset.figure]);
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
    const theme = root.dataset.theme;
    const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    charts.forEach(draw);
  });

  // On paper everything is open, light and as wide as the sheet.
  let before;
  addEventListener("beforeprint", () => {
    before = {
      theme: root.dataset.theme,
      closed: [...document.querySelectorAll("details:not([open])")]
    };
    root.dataset.theme = "light";
    before.closed.forEach((details) => {
      details.open = true;
    });
    charts.forEach((chart) => onPaper.draw(chart, draw));
  });
  addEventListener("afterprint", () => {
    if (before.theme) root.dataset.theme = before.theme;
    else delete root.dataset.theme;
    before.closed.forEach((details) => {
      details.open = false;
    });
    charts.forEach((chart) => onPaper.restore(chart, draw));
  });
})();
