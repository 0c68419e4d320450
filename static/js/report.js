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
  });

  const toggle = document.querySelector("[data-theme-toggle]");
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const theme = root.dataset.theme;
    const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    charts.forEach(draw);
  });

  // On paper it is light and as wide as the sheet, with the parts of the appendix that are open.
  const PAPER_PX = 650;
  let before;

  function redraw(size) {
    charts.forEach((chart) => {
      draw(chart);
      Plotly.relayout(chart, size);
    });
  }
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    redraw({
      width: PAPER_PX
    });
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    redraw({
      autosize: true
    });
  });
})();
