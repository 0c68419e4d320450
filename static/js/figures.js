// Draws one figure, on pages and in report files alike. Its colours are tokens, written
// var(--name), which are looked up here, so that one figure serves both themes.
"use strict";

const drawFigure = (() => {
  const TOKEN = /^var\(--[a-z0-9-]+\)$/;
  const CONFIG = {
    displayModeBar: false,
    responsive: true,
    doubleClick: "reset",
    showTips: false,
    topojsonURL: ""
  };

  // What a token is in the theme shown: only the colour of an element says that.
  function colourReader() {
    const known = new Map();
    return (token) => {
      if (!known.has(token)) {
        const probe = document.body.appendChild(document.createElement("i"));
        probe.style.color = token;
        known.set(token, getComputedStyle(probe).color);
        probe.remove();
      }
      return known.get(token);
    };
  }

  function withColours(value, colourOf) {
    if (typeof value === "string") return TOKEN.test(value) ? colourOf(value) : value;
    if (Array.isArray(value)) return value.map((item) => withColours(item, colourOf));
    // Typed arrays travel as {dtype, bdata}; there is nothing to look up in them.
    if (value === null || typeof value !== "object" || "bdata" in value) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withColours(item, colourOf)]));
  }

  return (chart, figure) => {
    const colourOf = colourReader();
    const layout = withColours(figure.layout, colourOf);
    const data = withColours(figure.data, colourOf);
    const shared = layout.meta || {};
    data.filter((trace) => trace.meta in shared).forEach((trace) => Object.assign(trace, shared[trace.meta]));
    return Plotly.react(chart, data, layout, CONFIG);
  };
})();
