// What scripts say in the language of the page; English where nothing else is known. "since
// {clock}" takes {clock} from the values.
"use strict";

const translated = (() => {
  const element = document.getElementById("words");
  const words = element ? JSON.parse(element.textContent) : {};
  return (text, values = {}) =>
    (words[text] || text).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
})();
