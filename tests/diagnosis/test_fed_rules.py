"""Every rule says which real Flink fed it, and fires on that; one that none has fed is for
information.
"""

import re
from pathlib import Path

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.rule import RULES, job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow
from tests.diagnosis.jobs import LIMITS, window
from tests.played import of_rule
from tests.windows import recorded_windows
from webapp.site.documentation.rules import UNPROVEN, pages

TESTS = Path(__file__).parents[1]
FED = [known for known in registry.all_rules().values() if known.fed_by]
ON_JOBS = [known for known in FED if known.judges is JobWindow]
AMONG_ATTEMPTS = {"restore.without_state": "webapp/checkpoints/test_fresh_starts.py"}
"""Rules that judge once the attempts of a job are known to be of one job, and where they are played."""
ON_OTHERS = [known for known in FED if known.judges is not JobWindow]


def ids(known):
    return known.id


@pytest.mark.parametrize("known", ON_JOBS, ids=ids)
def test_a_rule_on_jobs_fires_on_the_recording_that_it_names(known):
    kind, _, name = known.fed_by.partition("/")
    if known.id in AMONG_ATTEMPTS:
        text = (TESTS / AMONG_ATTEMPTS[known.id]).read_text("utf-8")
        assert f'"{known.id}"' in text and f'"{name}"' in text
    elif kind == "incidents":
        assert of_rule(name, known.id)
    else:
        assert kind == "windows"
        judged = (registry.diagnose(one, LIMITS, only=[known.id]) for one in recorded_windows(name))
        assert any(one.findings for one in judged)


@pytest.mark.parametrize("known", ON_OTHERS, ids=ids)
def test_a_rule_on_storage_names_a_recording_and_a_test_judges_that_by_it(known):
    """Audits: ``tests/webapp/storage/test_recorded_audits.py``. A real NameNode is not recorded."""
    kind, _, name = known.fed_by.partition("/")
    folder = TESTS if kind == "integration" else TESTS / "fixtures"
    assert list((folder / kind).glob(f"{name}*"))
    words = name.replace("/", "-"), name.partition("/")[2] or name
    assert kind == "audits" or any(
        f'"{known.id}"' in (text := path.read_text())
        and any(word in text or word == path.stem for word in words)
        for path in TESTS.rglob("test_*.py")
        if path != Path(__file__)
    )


def test_what_a_rule_finds_that_no_flink_has_fed_is_information():
    def judge(judged, limits):
        yield job_finding(
            judged, "made.up", "critical", "high", title="t", cause="c", next_step="n", evidence=()
        )

    for fed_by, severity in (("", "info"), ("windows/1.20.5-E", "critical")):
        rule("made.up", "Made up", "It is made up.", fed_by=fed_by)(judge)
        try:
            (found,) = registry.diagnose(window(), LIMITS, only=["made.up"]).findings
        finally:
            del RULES["made.up"]
        assert found.severity == severity


def test_the_documentation_says_of_exactly_these_rules_that_none_has_fed_them():
    parts = [part for page in pages().values() for part in page.split("\n## ")]
    ids = {match[1] for part in parts if UNPROVEN in part if (match := re.search("`(.+?)`", part))}
    assert ids == {known.id for known in registry.all_rules().values() if not known.is_proven}
