"""What the rules about checkpoints and restarts say of real clusters."""

import json

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.findings import Finding
from tests.diagnosis.jobs import LIMITS, evidence
from tests.ingest.recorded import RECORDINGS
from tests.windows import recorded, recorded_windows

CHECKPOINT_RULES = tuple(
    id for id in registry.all_rules() if id.split(".")[0] in ("checkpoint", "restart", "collect")
)


def told(recording: str, *rules: str) -> list[Finding]:
    """Every finding of these rules (all by default) in every window of a recording, by time."""
    windows = recorded_windows(recording)
    return [
        finding
        for one in windows
        for finding in registry.diagnose(one, LIMITS, only=rules or CHECKPOINT_RULES).findings
    ]


def rules_of(recording: str) -> set[str]:
    return {finding.rule for finding in told(recording)}


EXPECTED = {
    "1.12.5-G": {"checkpoint.full_after_savepoint"},
    "1.20.5-B": {"checkpoint.start_delay"},
    "1.20.5-C2": {"checkpoint.alignment"},
    "1.20.5-E": {"checkpoint.declined"},
    "1.20.5-F": {"checkpoint.expired"},
    "1.20.5-I": {"restart.loop"},
    "1.20.5-J": {"restart.loop"},
}


@pytest.mark.parametrize("recording", recorded())
def test_each_recording_shows_what_was_done_to_it_and_nothing_else(recording):
    assert rules_of(recording) == EXPECTED.get(recording, set())


def test_barriers_that_back_pressure_holds_are_not_blamed_on_a_source():
    assert {finding.data["source"] for finding in told("1.20.5-B", "checkpoint.start_delay")} == {
        None
    }


def test_no_rule_breaks_on_a_recording():
    for recording in recorded():
        for judged in recorded_windows(recording):
            for lacking in registry.diagnose(judged, LIMITS, only=CHECKPOINT_RULES).unknowns:
                assert "broke" not in lacking.missing, (recording, lacking)


def test_a_failing_snapshot_is_declined_with_subtask_host_and_exception():
    finding = told("1.20.5-E", "checkpoint.declined")[-1]
    assert evidence(finding, "declined by") == "enrich/1"
    assert evidence(finding, "host") == "flink-tm-2"
    assert evidence(finding, "reason") == "CHECKPOINT_ASYNC_EXCEPTION"
    assert "Exception" in evidence(finding, "exception")
    assert finding.confidence == "high"


def test_expiries_name_who_had_not_acknowledged_and_who_held_the_barrier():
    for finding in told("1.20.5-F", "checkpoint.expired"):
        assert evidence(finding, "barrier held by") == "slow-enrich"
        assert "had not acknowledged" in finding.cause
        [vertex] = [related for related in finding.related if related.kind == "vertex"]
        assert vertex.path[-1] == "slow-enrich"


def test_slow_barriers_point_to_the_origin_of_the_pressure():
    for finding in told("1.20.5-B", "checkpoint.start_delay"):
        assert evidence(finding, "barrier held by") == "slow-enrich"
        assert "slow-enrich" in finding.cause
        assert finding.data["held_by"]["path"] == ["Source: clicks", "parse", "slow-enrich"]


def test_full_uploads_after_savepoints_are_told_with_their_excess_and_the_fault():
    findings = told("1.12.5-G", "checkpoint.full_after_savepoint")
    assert [(finding.subject, finding.data["savepoint_id"]) for finding in findings] == [
        ("checkpoint 8", 7), ("checkpoint 12", 11), ("checkpoint 16", 15),
    ]  # fmt: skip
    assert all(78 << 20 < finding.evidence[0].value < 80 << 20 for finding in findings)
    assert all("FLINK-23949" in finding.cause for finding in findings)


def test_a_loop_by_lost_taskmanagers_names_them():
    finding = told("1.20.5-I", "restart.loop")[-1]
    assert evidence(finding, "restart episodes") == 5
    lost = finding.data["lost_taskmanagers"]
    assert len(lost) == 5
    assert all(name.startswith("flink-tm-") for name in lost)


def test_a_loop_by_what_the_jobs_code_calls_names_the_task_and_blames_no_host():
    finding = told("1.20.5-J", "restart.loop")[-1]
    assert list(finding.data["groups"]) == [
        "java.io.IOException at lab.LabJob$StateOp.flatMap(LabJob.java:117)"
    ]
    assert "Connection reset by peer" in finding.cause
    assert evidence(finding, "last failed task").startswith("enrich (2/4)")
    assert "all failures come from enrich (2/4), on " in finding.next_step
    assert "share of failures on one host" not in {one.name for one in finding.evidence}
    assert "of the failures were on" not in finding.cause
    assert "host" not in {related.kind for related in finding.related}


def jobs_told(recording, rule):
    """Job name → the checkpoints that the rule names."""
    named = {}
    for judged in recorded_windows(recording):
        for finding in registry.diagnose(judged, LIMITS, only=[rule]).findings:
            named.setdefault(judged.job_name, set()).add(finding.subject)
    return named


def test_the_metadata_makes_the_fault_of_old_releases_certain():
    findings = told("1.12.5-G", "checkpoint.full_after_savepoint")
    last = {finding.subject: finding for finding in findings}
    assert {finding.confidence for finding in last.values()} == {"high"}
    assert all(
        evidence(finding, "old files among those uploaded") > 0.85 for finding in last.values()
    )


def test_what_was_uploaded_after_savepoints_is_known_of_a_sound_release_too():
    [uploads] = {judged.uploads for judged in recorded_windows("1.20.5-G")[-1:]}
    assert [one.checkpoint_id for one in uploads] == [8, 12, 16]
    assert all(
        one.same_name_bytes == 0 and one.kept_bytes > 100 * one.new_name_bytes for one in uploads
    )


def test_slow_alignment_tells_how_much_was_processed_between_the_barriers():
    """By Flink's own figure of that checkpoint."""
    reported = {}
    for line in (RECORDINGS / "1.20.5/C2/rest.jsonl").open(encoding="utf-8"):
        answer = json.loads(line)
        for one in (
            answer["body"]["history"]
            if answer["path"].endswith("/checkpoints") and answer["status"] == 200
            else ()
        ):
            reported[one["id"]] = one["processed_data"]
    for finding in told("1.20.5-C2", "checkpoint.alignment"):
        assert (
            evidence(finding, "processed during alignment")
            == reported[finding.data["checkpoints"][-1]]
            > 1_000_000
        )
