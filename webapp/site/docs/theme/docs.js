/* Search, the contents of narrow screens, and the way back to the dashboard that serves these pages.
   Nothing is loaded from elsewhere. */
"use strict";

const MOST = 12;
const field = document.getElementById("search");
const found = document.getElementById("found");
const root = `${document.body.dataset.root}/`;
let sections = null;

async function known() {
  if (!sections) {
    const answer = await fetch(`${root}search/search_index.json`);
    sections = (await answer.json()).docs;
    for (const one of sections) {
      one.all = `${one.title} ${one.text}`.toLowerCase();
      one.text = one.text.replace(/\s+/g, " ");
    }
  }
  return sections;
}

function excerpt(text, word) {
  const at = Math.max(text.toLowerCase().indexOf(word) - 40, 0);
  return `${at ? "… " : ""}${text.slice(at, at + 140)}`;
}

async function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
  found.hidden = !words.length;
  if (!words.length) return;
  const score = (one) => words.filter((word) => one.title.toLowerCase().includes(word)).length;
  const hits = (await known()).filter((one) => words.every((word) => one.all.includes(word)));
  hits.sort((a, b) => score(b) - score(a));
  found.replaceChildren(
    ...hits.slice(0, MOST).map((one) => {
      const link = document.createElement("a");
      link.href = root + one.location;
      link.textContent = one.title;
      const small = document.createElement("small");
      small.textContent = excerpt(one.text, words[0]);
      link.append(small);
      return link;
    }),
  );
  if (hits.length) return;
  const paragraph = document.createElement("p");
  paragraph.textContent = "Nothing has all of these words.";
  found.append(paragraph);
}

field.addEventListener("input", search);
field.form.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") found.hidden = true;
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  }
});
document.addEventListener("click", (event) => {
  if (!field.form.contains(event.target)) found.hidden = true;
});
document.querySelector(".contents").append(document.querySelector(".pages ul").cloneNode(true));
document.querySelector(".back").hidden = !location.pathname.startsWith("/docs/");
