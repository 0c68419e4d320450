"""start.slow_phase: a real Flink one task of which takes 15 s to restore, against its raw answers;
and starts that are not slow.
"""

import pytest

from spark_jobs.diagnosis.registry import diagnose, limits
from spark_jobs.diagnosis.samples import Annotation, JobStart, JobWindow
from tests.played import FOLDER, evidence, of_rule, vertices
from tests.raw_starts import by_rest

RULE = "start.slow_phase"
PLAYED = "slow-restore"


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_the_task_that_restores_slowly_is_named_with_the_time_that_all_others_waited(
    version: str,
) -> None:
    *_, newest = of_rule(f"{version}/{PLAYED}", RULE)
    *_, last = by_rest(f"incidents/{version}/{PLAYED}")
    restore_ms = last["RUNNING"] - last["INITIALIZING"]
    assert 14_000 < evidence(newest, "time that all other tasks waited") <= restore_ms
    assert evidence(newest, "restore phase over the median of earlier starts") > 3
    assert newest["subject_id"] == vertices(f"{version}/{PLAYED}")["enrich"]
    assert newest["title"].startswith("enrich/0 delayed the restart by 1")
    assert newest["data"]["phase"] == "restore"
    assert newest["data"]["hosts"][0] in newest["cause"]


@pytest.mark.parametrize(
    "played",
    sorted(
        str(path.relative_to(FOLDER))
        for path in FOLDER.glob("*/*")
        if path.name in ("balanced", "few-buffers", "slow-sync")
    ),
)
def test_starts_that_are_even_are_not_slow(played: str) -> None:
    assert not of_rule(played, RULE)


def window(*starts: JobStart, **fields: object) -> JobWindow:
    return JobWindow("c", "j", 1_000_000, 960_000, starts=starts, **fields)  # type: ignore[arg-type]


def judged(one: JobWindow) -> list[str]:
    return [finding.title for finding in diagnose(one, limits(), only=[RULE]).findings]


def start(**phases: int) -> JobStart:
    return JobStart(at_ms=900_000, kind="restart", running_at_ms=950_000, **phases)


def test_a_phase_is_compared_with_the_median_of_earlier_starts() -> None:
    earlier = [
        start(slots_ms=4_000, deploy_ms=100),
        start(slots_ms=6_000, deploy_ms=90),
        start(slots_ms=90_000),
    ]
    assert judged(window(*earlier, start(slots_ms=18_000))) == [
        "Waiting for slots took 18 s, otherwise 6 s"
    ]
    assert not judged(window(*earlier, start(slots_ms=17_999)))
    assert not judged(
        window(*earlier, start(deploy_ms=9_000))
    )  # a hundred times as long, and still short
    assert not judged(window(start(slots_ms=900_000)))  # nothing to compare with


def test_starts_of_long_ago_are_not_judged_again() -> None:
    old = JobStart(at_ms=1, kind="start", running_at_ms=399_999, held_up_ms=60_000)
    assert not judged(window(old))
    assert judged(
        window(
            JobStart(at_ms=1, kind="start", running_at_ms=400_000, slots_ms=1),
            old.__class__(2, "restart", 400_000, slots_ms=60_000),
        )
    )


def test_a_start_that_was_not_seen_to_its_end_is_unknown() -> None:
    result = diagnose(window(annotations=(Annotation(999_000, "restart"),)), limits(), only=[RULE])
    assert not result.findings
    assert [one.missing for one in result.unknowns] == [
        "when its tasks were scheduled, deployed and ran"
    ]
