"""sink.transaction_timeout: a sink of a real Flink whose store aborts what is open for too long,
against the log lines of Flink's sink.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from spark_jobs.diagnosis.samples import JobStart
from spark_jobs.diagnosis.transactions import LOST, OPEN, TIMEOUT_SET
from tests.diagnosis.jobs import checkpoint, event, found, minutely, ms, savepoint, window
from tests.played import evidence, logged, of_rule

RULE = "sink.transaction_timeout"
VERSIONS = ("1.20.5", "2.3.0")
_WARNED = re.compile(
    r"^(\S+ \S+) WARN .*TwoPhaseCommitSinkFunction .* has been open for (\d+) ms", re.MULTILINE
)
_DONE = re.compile(r"^(\S+ \S+) INFO .* - Completed checkpoint (\d+) for job", re.MULTILINE)


def instant(at: str) -> float:
    return datetime.strptime(at, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp()


def open_at_commits(played: str) -> Iterator[int]:
    """As Flink's sink says, right after a checkpoint completed: those that it commits after a
    restart it tells of by themselves.
    """
    done = [instant(at) for at, _ in _DONE.findall(logged(played))]
    for at, open_ms in _WARNED.findall(logged(played)):
        if any(0 <= instant(at) - one < 0.5 for one in done):
            yield int(open_ms)


@pytest.mark.parametrize("version", VERSIONS)
def test_transactions_that_flinks_sink_lost_are_told_with_how_long_they_were_open(
    version: str,
) -> None:
    played = f"{version}/short-transactions"
    *_, newest = of_rule(played, RULE)
    assert newest["severity"] == "critical"
    assert evidence(newest, "time-out of transactions") == 12_000
    assert (
        evidence(newest, "transactions lost by the sink's log")
        == logged(played).count("Data loss might have occurred")
        >= 3
    )
    told = max(open_at_commits(played))
    # A transaction is begun a moment after the trigger, and committed a moment after the end.
    assert -500 <= evidence(newest, "longest that one was open") - told < 2_500
    assert "60 s or more" in newest["next_step"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sink_that_warns_at_each_commit_of_a_long_time_out_is_no_trouble(version: str) -> None:
    assert len(list(open_at_commits(f"{version}/transactions"))) > 3
    assert not of_rule(f"{version}/transactions", RULE)


def told(kind: str, at: float = 0, timeout_s: float = 60) -> object:
    return event(at, kind, fields={"timeout_ms": round(timeout_s * 1000)})


def start(at: float, kind: str, took: float) -> JobStart:
    return JobStart(ms(at), kind, ms(at + took), total_ms=round(took * 1000), restore_ms=0)


def test_a_time_out_is_compared_with_the_time_from_one_checkpoint_to_the_end_of_the_next() -> None:
    done = minutely(5, took=4)
    for timeout_s, severity in ((90, None), (79, "warning"), (63, "critical")):
        said = found(window(*done, events=(told(TIMEOUT_SET, timeout_s=timeout_s),)), RULE)
        assert [one.severity for one in said] == ([severity] if severity else [])
    assert not found(window(*done), RULE)
    (said,) = found(window(*done), RULE, set_ms=60_000)
    assert (said.data["open_ms"], said.data["timeout_ms"]) == (64_000, 60_000)


def test_failed_checkpoints_and_savepoints_commit_nothing() -> None:
    between = (checkpoint(3, 120, "expired", took=50), savepoint(4, 170))
    (said,) = found(
        window(*minutely(2), *between, checkpoint(5, 180), events=(told(OPEN, timeout_s=100),)),
        RULE,
    )
    assert said.data["open_ms"] == 121_000
    (said,) = found(
        window(*minutely(2), *between, at=400, events=(told(OPEN, timeout_s=100),)), RULE
    )
    assert said.data["open_ms"] == 340_000


def test_a_restart_aborts_what_was_open_and_comes_on_top_of_what_was_prepared() -> None:
    done = (*minutely(2), *minutely(3, first=3, at=320))
    starts = (start(-10, "start", 5), start(200, "restart", 100))
    (said,) = found(window(*done, starts=starts, events=(told(TIMEOUT_SET, 290, 150),)), RULE)
    assert (said.severity, said.data["open_ms"], said.data["restart_ms"]) == (
        "warning",
        61_000,
        100_000,
    )
    assert said.data["advised_ms"] == 600_000
    assert not found(window(*done, starts=starts, events=(told(TIMEOUT_SET, 290, 170),)), RULE)


def test_the_shortest_time_out_since_the_newest_start_counts() -> None:
    events = (told(TIMEOUT_SET, -8, 30), told(TIMEOUT_SET, 290, 500), told(TIMEOUT_SET, 291, 400))
    starts = (start(-10, "start", 5), start(285, "restart", 10))
    (said,) = found(window(*minutely(9), starts=starts, events=events), RULE, open_ratio=0.1)
    assert said.data["timeout_ms"] == 400_000


def test_a_loss_is_told_for_an_hour() -> None:
    lost = (told(LOST, 100, 900),)
    assert [one.severity for one in found(window(*minutely(50), events=lost), RULE)] == ["critical"]
    assert not found(window(*minutely(65), events=lost), RULE)
