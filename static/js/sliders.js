// Range inputs whose positions stand for uneven values: the number beside them is what is sent.
"use strict";

document.querySelectorAll(".slider").forEach((slider) => {
  const values = slider.dataset.values.split(" ").map(Number);
  const words = slider.dataset.words.split("|");
  const range = slider.querySelector("input[type=range]");
  const number = slider.querySelector("input[type=number]");
  const output = slider.querySelector("output");
  range.hidden = false;
  range.addEventListener("input", () => {
    number.value = values[range.value];
    output.textContent = words[range.value];
    range.setAttribute("aria-valuetext", words[range.value]);
  });
  number.addEventListener("input", () => {
    const wanted = Number(number.value);
    const distances = values.map((value) => Math.abs(value - wanted));
    const nearest = distances.indexOf(Math.min(...distances));
    range.value = nearest;
    output.textContent = values[nearest] === wanted ? words[nearest] : number.value;
  });
});
