"""Every rule has its runbook page, and every runbook page its rule."""

import re
from pathlib import Path

from django.template.loader import render_to_string

from spark_jobs.diagnosis.registry import all_rules
from tests.selections import for_each

FOLDER = Path(__file__).parents[2] / "templates" / "rules"
BLOCKS = (
    "What it means",
    "Look here first",
    "Act now",
    "Usual causes",
    "Fix it for good",
    "When it is not this",
)


def runbooks() -> set[str]:
    """A rule's id has a dot; the frame and the pages about rules have none."""
    return {path.stem for path in FOLDER.glob("*.html") if "." in path.stem}


def test_rules_and_runbooks_are_the_same_set() -> None:
    assert runbooks() == set(all_rules())


@for_each(rule_id=sorted(all_rules()))
def test_every_section_of_a_runbook_says_something(rule_id: str) -> None:
    page = render_to_string(f"rules/{rule_id}.html")
    sections = dict(re.findall(r"<h3>(.*?)</h3>(.*?)</section>", page, re.DOTALL))
    assert tuple(sections) == BLOCKS
    for title, text in sections.items():
        assert len(re.sub(r"<[^>]+>|\s+", " ", text).split()) >= 3, title


@for_each(rule_id=sorted(all_rules()))
def test_a_runbook_is_the_same_for_everybody(rule_id: str) -> None:
    source = (FOLDER / f"{rule_id}.html").read_text()
    if source.strip() == '{% extends "rules/objective.html" %}':
        source = (FOLDER / "objective.html").read_text()
    assert source.startswith('{% extends "rules/runbook.html" %}')
    assert "{{" not in source
    assert set(re.findall(r"{% (\w+)", source)) <= {
        "extends",
        "block",
        "endblock",
        "translate",
        "blocktranslate",
        "endblocktranslate",
    }


@for_each(rule=all_rules().values())
def test_every_rule_and_threshold_explains_itself(rule) -> None:  # type: ignore[no-untyped-def]
    assert rule.title and rule.summary.endswith(".")
    for threshold in rule.thresholds:
        assert threshold.key.startswith(f"{rule.id}.")
        assert len(threshold.reason.split()) >= 5, threshold.key
