"""What the rules find in every shipped recording, through the real commands: what must be named,
and what must not.
"""

import json
from collections.abc import Sequence

import pytest

from tests.acceptance.homes import IN_PIECES, NAMES, RECORDINGS, Instance, cluster_of
from tests.acceptance.test_recordings import milliseconds


@pytest.fixture(scope="module")
def found(instance: Instance) -> dict[str, list[dict]]:
    """Recording → its findings."""
    return findings_of(instance, NAMES)


def findings_of(instance: Instance, names: Sequence[str]) -> dict[str, list[dict]]:
    findings = [json.loads(line) for line in instance.manage("findings").splitlines()]
    return {
        name: [finding for finding in findings if finding["cluster"] == cluster_of(name)]
        for name in names
    }


def of_rule(findings: list[dict], rule: str) -> list[dict]:
    return [finding for finding in findings if finding["rule"] == rule]


def recorded_span(name: str) -> tuple[float, float]:
    times = [
        json.loads(line)["ts"]
        for line in (RECORDINGS / name / "rest.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return min(times), max(times)


def test_the_healthy_job_has_nothing_above_info(found: dict[str, list[dict]]) -> None:
    assert [finding for finding in found["1.20.5/A"] if finding["severity"] != "info"] == []


@pytest.mark.parametrize("name", ["1.20.5/B", "1.20.5/C2", "1.20.5/F"])
def test_the_origin_of_back_pressure_is_slow_enrich_and_nobody_else(
    found: dict[str, list[dict]], name: str
) -> None:
    assert {finding["subject"] for finding in of_rule(found[name], "pressure.root")} == {
        "slow-enrich"
    }


def test_who_waits_is_listed_under_the_origin(found: dict[str, list[dict]]) -> None:
    (root,) = of_rule(found["1.20.5/B"], "pressure.root")
    assert {"Source: clicks", "parse"} <= {related["subject"] for related in root["related"]}


def test_slow_checkpoints_point_to_the_origin_that_holds_their_barriers(
    found: dict[str, list[dict]],
) -> None:
    (delay,) = of_rule(found["1.20.5/B"], "checkpoint.start_delay")
    assert "slow-enrich" in delay["title"] + delay["cause"]


def test_skew_names_the_hot_subtask(found: dict[str, list[dict]]) -> None:
    (skew,) = of_rule(found["1.20.5/C2"], "pressure.skew")
    assert "slow-enrich" in skew["subject"] + skew["title"]
    assert "subtask 0" in skew["title"]


def test_declines_have_subtask_host_and_exception(found: dict[str, list[dict]]) -> None:
    (declined,) = of_rule(found["1.20.5/E"], "checkpoint.declined")
    told = json.dumps(declined)
    assert all(word in told for word in ("enrich", "flink-tm-2", "java.io.IOException"))


def test_expiries_have_who_lacked_and_what_held_them(found: dict[str, list[dict]]) -> None:
    (expired,) = of_rule(found["1.20.5/F"], "checkpoint.expired")
    assert "slow-enrich" in expired["title"] + expired["cause"]


def test_full_checkpoints_after_savepoints_are_found_where_the_release_has_the_bug_and_nowhere_else(
    found: dict[str, list[dict]],
) -> None:
    full = of_rule(found["1.12.5/G"], "checkpoint.full_after_savepoint")
    assert sorted(finding["title"].split()[1] for finding in full) == ["12", "16", "8"]
    assert all("FLINK-23949" in json.dumps(finding) for finding in full)
    assert [
        name
        for name in NAMES
        if name != "1.12.5/G" and of_rule(found[name], "checkpoint.full_after_savepoint")
    ] == []


def test_old_files_in_the_new_metadata_make_it_certain(found: dict[str, list[dict]]) -> None:
    for finding in of_rule(found["1.12.5/G"], "checkpoint.full_after_savepoint"):
        assert finding["confidence"] == "high"
        assert "old files among those uploaded" in {
            figure["name"] for figure in finding["evidence"]
        }


@pytest.mark.parametrize("name", ["1.20.5/I", "1.20.5/J"])
def test_restart_loops_are_one_finding_with_their_root_cause(
    found: dict[str, list[dict]], name: str
) -> None:
    (loop,) = of_rule(found[name], "restart.loop")
    assert loop["severity"] == "critical"
    assert of_rule(found[name], "pressure.root") == []


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("1.20.5/M", "pressure.root"),
        ("1.20.5/L1", "checkpoint.size_growth"),
        ("1.20.5/L1", "checkpoint.full_after_savepoint"),
    ],
)
def test_what_must_not_be_said_is_not_said(
    found: dict[str, list[dict]], name: str, rule: str
) -> None:
    assert of_rule(found[name], rule) == []


@pytest.mark.parametrize("name", NAMES)
def test_recordings_are_judged_at_their_own_time_and_their_ended_jobs_have_nothing_open(
    found: dict[str, list[dict]], name: str
) -> None:
    first, last = recorded_span(name)
    for finding in found[name]:
        assert (
            first - 60
            <= milliseconds(finding["first_seen"]) / 1000
            <= milliseconds(finding["last_seen"]) / 1000
            <= last + 60
        )
        assert finding["state"] == "closed"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_stalled_or_unseen_because_a_recording_ended(
    found: dict[str, list[dict]], name: str
) -> None:
    assert not of_rule(found[name], "checkpoint.stalled")
    assert not of_rule(found[name], "collect.blind")


def test_every_finding_says_what_to_do_with_figures(found: dict[str, list[dict]]) -> None:
    for finding in (one for findings in found.values() for one in findings):
        assert finding["next_step"], finding["rule"]
        assert finding["evidence"], finding["rule"]
        assert {"name", "value", "unit", "threshold"} <= finding["evidence"][0].keys()


@pytest.mark.long
def test_a_recording_in_pieces_and_again_has_the_same_findings(
    found: dict[str, list[dict]], out_of_order: Instance
) -> None:
    def without_ids(findings: list[dict]) -> list[dict]:
        return [
            {key: value for key, value in finding.items() if key != "id"} for finding in findings
        ]

    for name, findings in findings_of(out_of_order, IN_PIECES).items():
        assert without_ids(findings) == without_ids(found[name]), name
