"""Whoever does not see a page learns what a table or chart is by its name."""

import re

import pytest

from webapp.config.environment import PROJECT_DIR

PAGES = sorted((PROJECT_DIR / "templates").rglob("*.html"))


@pytest.mark.parametrize(
    "mark",
    [
        r"<table\b[^>]*>(?!\s*<caption[ >])",
        r'<div class="chart[^>]*data-chart=(?![^>]*aria-label=)[^>]*>',
    ],
)
def test_every_table_has_a_caption_and_every_chart_a_name(mark: str) -> None:
    assert {
        str(page.relative_to(PROJECT_DIR)): found
        for page in PAGES
        if (found := re.findall(mark, page.read_text()))
    } == {}
