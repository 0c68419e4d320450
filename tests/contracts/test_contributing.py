"""What CONTRIBUTING.md and README.md name is there."""

import re

import pytest

from webapp.config.environment import PROJECT_DIR

PACKAGES = ("ingest/", "spark_jobs/", "webapp/", "tests/", "templates/", "static/")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_every_path_that_a_page_names_is_there(page: str) -> None:
    named = re.findall(r"`([\w./]+)`", (PROJECT_DIR / page).read_text())
    paths = {path for path in named if path.startswith(PACKAGES)}
    assert paths
    assert sorted(path for path in paths if not (PROJECT_DIR / path).exists()) == []


def test_the_page_for_contributors_stays_short() -> None:
    lines = (PROJECT_DIR / "CONTRIBUTING.md").read_text().splitlines()
    assert len(lines) <= 200
    assert [line for line in lines if len(line) > 100] == []
