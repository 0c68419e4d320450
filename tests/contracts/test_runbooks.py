"""Every rule has its runbook, and every runbook its rule."""

import re

from spark_jobs.diagnosis.registry import all_rules
from tests.selections import for_each
from webapp.findings.runbooks import FOLDER, runbook

BLOCKS = [
    "What it means",
    "Look here first",
    "Act now",
    "Usual causes",
    "Fix it for good",
    "When it is not this",
]


def test_every_runbook_has_a_rule() -> None:
    rules = set(all_rules()) | {"objective"}
    assert {path.stem for path in FOLDER.glob("*.md")} <= rules


@for_each(rule_id=sorted(all_rules()))
def test_every_section_of_a_runbook_says_something(rule_id: str) -> None:
    sections = runbook(rule_id)
    assert [title for title, _ in sections] == BLOCKS
    for title, blocks in sections:
        texts = " ".join(text for _, lines in blocks for text in lines)
        assert len(texts.split()) >= 3, title
        assert set(re.findall(r"<(/?\w+)>", texts)) <= {"code", "/code", "b", "/b"}, title
        assert not re.search(r"[`*]{2}|<(?!/?(?:code|b)>)", texts), title


@for_each(rule=all_rules().values())
def test_every_rule_and_threshold_explains_itself(rule) -> None:  # type: ignore[no-untyped-def]
    assert rule.title and rule.summary.endswith(".")
    for threshold in rule.thresholds:
        assert threshold.key.startswith(f"{rule.id}.")
        assert len(threshold.reason.split()) >= 5, f"{threshold.key}: its reason is no sentence"
