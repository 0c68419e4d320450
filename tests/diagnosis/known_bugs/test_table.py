"""Every known bug: where it is claimed, and where it must not be."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.known_bugs import BY_ISSUE, KNOWN_BUGS
from spark_jobs.diagnosis.known_bugs.bug import FindingFacts
from spark_jobs.diagnosis.known_bugs.conditions import JobFacts
from spark_jobs.diagnosis.known_bugs.releases import NEWEST_EXAMINED
from spark_jobs.diagnosis.registry import all_rules
from tests.diagnosis.known_bugs.cases import CASES, INCREMENTAL, NOT_REPORTED, job
from tests.selections import for_each

EACH = for_each(issue=sorted(CASES))
NO_CLAIM = ("no", "unknown")


def on(version: str | None, facts: JobFacts) -> JobFacts:
    return replace(facts, flink_version=version)


def any_job(issue: str) -> JobFacts:
    case = CASES[issue]
    return case.hit or case.open_question or NOT_REPORTED


def test_every_bug_has_a_case_and_stands_in_the_table_once():
    assert [bug.issue for bug in KNOWN_BUGS] == list(dict.fromkeys(bug.issue for bug in KNOWN_BUGS))
    assert set(CASES) == set(BY_ISSUE)
    assert len(KNOWN_BUGS) >= 30


SET_IN_CODE = {
    "FLINK-28060",
    "FLINK-28975",
    "FLINK-32414",
    "FLINK-32496",
    "FLINK-35157",
    "FLINK-37670",
}
"""Nobody reports what a job sets in its code, or what its source is: such a job is unknown, at
most, and never spared.
"""


def test_each_bug_has_a_release_that_is_nearly_hit():
    assert [issue for issue, case in CASES.items() if not case.free] == []


@EACH
def test_each_condition_of_a_bug_has_a_job_that_it_spares_or_leaves_in_doubt(issue):
    case = CASES[issue]
    if issue in SET_IN_CODE:
        assert case.doubtful and case.open_question and not case.spared
        return
    for condition in BY_ISSUE[issue].conditions:
        assert False in [condition.holds(facts) for facts in case.spared], condition.text


@EACH
def test_it_is_not_claimed_where_only_the_code_of_a_job_could_make_it_hit(issue):
    case, bug = CASES[issue], BY_ISSUE[issue]
    for facts in case.doubtful:
        nearly = on(case.affected[0], facts)
        assert bug.exposure(nearly) == "unknown"
        assert bug.not_known(nearly)
        if case.finding:
            assert bug.explains(nearly, case.finding[0]) != "shows"


@EACH
def test_it_can_hit_a_job_with_its_releases_and_its_configuration(issue):
    case, bug = CASES[issue], BY_ISSUE[issue]
    for version in case.affected:
        assert bug.releases.affect(version) == "yes", version
        if case.hit:
            assert bug.exposure(on(version, case.hit)) == "can_hit", version
            assert bug.not_known(on(version, case.hit)) == []


@EACH
def test_it_is_not_claimed_for_a_release_without_it(issue):
    case, bug = CASES[issue], BY_ISSUE[issue]
    for version in (*case.free, "1.10.3"):
        assert bug.exposure(on(version, any_job(issue))) in NO_CLAIM, version
        if case.finding:
            assert bug.explains(on(version, any_job(issue)), case.finding[0]) is None, version


@EACH
def test_a_fix_is_named_as_the_first_release_without_it(issue):
    bug, case = BY_ISSUE[issue], CASES[issue]
    assert set(bug.releases.fixed) <= set(case.free)
    for version in case.free:
        if version in bug.releases.fixed:
            assert bug.releases.affect(version) == "no"
            assert version in bug.way_out


@EACH
def test_vendors_releases_snapshots_and_the_future_are_not_claimed(issue):
    bug, case = BY_ISSUE[issue], CASES[issue]
    newest = f"2.3.{NEWEST_EXAMINED[2, 3] + 1}"
    texts = [f"{case.affected[0]}{suffix}" for suffix in ("-stream1", "-amzn-0", "-SNAPSHOT")]
    for version in (*texts, newest, "2.9.0", "1.99", "next", "", None):
        assert bug.exposure(on(version, any_job(issue))) in NO_CLAIM, version
        if case.finding:
            assert bug.explains(on(version, any_job(issue)), case.finding[0]) is None, version


@EACH
def test_it_spares_jobs_with_another_configuration(issue):
    case, bug = CASES[issue], BY_ISSUE[issue]
    for facts in case.spared:
        assert bug.exposure(on(case.affected[0], facts)) == "no"
        if case.finding:
            assert bug.explains(on(case.affected[0], facts), case.finding[0]) is None


@EACH
def test_what_is_not_known_of_a_job_is_named_and_nothing_is_claimed(issue):
    case, bug = CASES[issue], BY_ISSUE[issue]
    if case.open_question is None:
        assert bug.conditions == ()
        return
    asked = on(case.affected[0], case.open_question)
    assert bug.exposure(asked) == "unknown"
    assert bug.not_known(asked)


@EACH
def test_it_explains_its_symptom_and_no_other_finding(issue):
    case, bug = CASES[issue], BY_ISSUE[issue]
    job = on(case.affected[0], any_job(issue))
    others = [
        FindingFacts(rule)
        for rule in all_rules()
        if not case.finding or rule != case.finding[0].rule
    ]
    assert [seen for seen in others if bug.explains(job, seen) == "shows"] == []
    if case.finding is None:
        assert bug.symptom is None
        return
    seen, shown = case.finding
    assert bug.explains(job, seen) == shown
    if seen.exceptions:
        assert (
            bug.explains(job, FindingFacts(seen.rule, "high", ("java.lang.Exception: other",)))
            is None
        )
    assert bug.explains(job, replace(seen, confidence="low")) != "shows"


def test_where_a_finding_proves_it_only_with_its_configuration_this_has_to_be_known():
    bug, case = BY_ISSUE["FLINK-39513"], CASES["FLINK-39513"]
    assert bug.explains(on("1.20.5", case.open_question), case.finding[0]) == "may_explain"


@pytest.mark.parametrize("backend", [None, "Unknown"])
def test_a_state_backend_that_flink_does_not_name_is_not_known(backend):
    facts = job(configuration=INCREMENTAL, state_backend=backend)
    bug = BY_ISSUE["FLINK-23949"]
    assert bug.exposure(on("1.13.2", facts)) == "unknown"


def test_symptoms_are_findings_of_rules_that_there_are():
    named = {rule for bug in KNOWN_BUGS if bug.symptom for rule in bug.symptom.rules}
    assert named <= set(all_rules())


@EACH
def test_it_cites_what_was_read(issue):
    bug = BY_ISSUE[issue]
    assert bug.sources
    assert all(source.startswith("https://") for source in (*bug.sources, bug.address))
    assert bug.effect.endswith(".")
    assert bug.way_out.endswith(".")
