// plotly.js writes style attributes as text, which our content policy forbids; the same text
// through the style object is allowed. This keeps 'unsafe-inline' out of the policy.
"use strict";

(() => {
  const setAttribute = Element.prototype.setAttribute;
  SVGElement.prototype.setAttribute = function setStyleByObject(name, value) {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
})();
