// Draws one figure, on pages and in report files alike. Its colours are tokens, written var(--name), which are looked up here,
// so that one figure serves both themes.
"use strict";

const drawFigure = (() => {
  const TOKEN = /^var\((--[a-z0-9-]+)\)$/;
  const CONFIG = { displayModeBar: false, responsive: true, doubleClick: "reset", showTips: false, topojsonURL: "" };

  function withColours(value, styles) {
    if (typeof value === "string") {
      const token = TOKEN.exec(value);
      return token ? styles.getPropertyValue(token[1]).trim() || value : value;
    }
    if (Array.isArray(value)) return value.map((item) => withColours(item, styles));
    // Typed arrays travel as {dtype, bdata}; there is nothing to look up in them.
    if (value === null || typeof value !== "object" || "bdata" in value) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withColours(item, styles)]));
  }

  return (chart, figure) => {
    const styles = getComputedStyle(document.documentElement);
    const layout = withColours(figure.layout, styles);
    const data = withColours(figure.data, styles);
    const shared = layout.meta || {};
    data.filter((trace) => trace.meta in shared).forEach((trace) => Object.assign(trace, shared[trace.meta]));
    return Plotly.react(chart, data, layout, CONFIG);
  };
})();
