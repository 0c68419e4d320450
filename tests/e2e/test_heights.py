"""What the eye can take in: how tall pages are, and that words of a table stay whole."""

import pytest

from tests.e2e.test_pages import PAGES, address

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

TALLEST_PX = 4_000
BROKEN = """() => {
  const broken = [], range = document.createRange();
  for (const cell of document.querySelectorAll("main td")) {
    const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode());)
      for (const word of node.data.matchAll(/(?<![^\\s(])[A-Za-z]{3,14}(?![^\\s,.;)])/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].filter((box) => box.width)
          .map((box) => Math.round(box.top)));
        if (lines.size > 1) broken.push(word[0]);
      }
  }
  return broken;
}"""


def test_no_page_is_taller_than_its_budget_and_no_word_of_a_table_is_broken(page, site):
    for path in PAGES:
        # What a page fetches by itself widens its tables: it is measured when all of it is there.
        assert page.goto(site + address(path), wait_until="networkidle").status == 200, path
        assert page.evaluate("document.documentElement.scrollHeight") <= TALLEST_PX, path
        assert page.evaluate(BROKEN) == [], path


def test_a_long_table_scrolls_in_a_box_of_its_own_with_names_and_headings_in_sight(page, site):
    page.goto(f"{site}/rules/")
    page.evaluate(
        """() => {
          const cells = "<td class=text>name</td>" + "<td class=n>1 234 567 890</td>".repeat(20);
          document.querySelector("main").innerHTML = `<section class="panel"><div class="scroll">
            <table><thead><tr><th>Job</th></tr></thead>
            <tbody>${`<tr>${cells}</tr>`.repeat(60)}</tbody></table></div></section>`;
          const box = document.querySelector(".scroll");
          box.scrollTo(600, 600);
        }"""
    )
    seen = page.evaluate(
        """() => {
          const box = document.querySelector(".scroll").getBoundingClientRect();
          const name = document.querySelectorAll("td.text")[30].getBoundingClientRect();
          const heading = document.querySelector("th").getBoundingClientRect();
          return [name.left - box.left, heading.top - box.top, box.height < innerHeight,
            document.documentElement.scrollWidth];
        }"""
    )
    assert seen == [0, 0, True, 1440]
