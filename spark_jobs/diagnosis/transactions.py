"""How long transactions of two-phase-commit sinks are open: at most from the trigger of a completed
checkpoint to the end of the next, or of a restart in between (TwoPhaseCommitSinkFunction and
Kafka's sink, Flink 1.12 to 2.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from spark_jobs.diagnosis.checkpoint_history import completed
from spark_jobs.diagnosis.duration_history import rounded_up_ms
from spark_jobs.diagnosis.samples import CheckpointSample, JobStart, LogEvent

OPEN, LOST, TIMEOUT_SET = "transaction_open", "transaction_lost", "transaction_timeout_set"
EVENTS_READ = (OPEN, LOST, TIMEOUT_SET)
BROKER_MAX_MS = 900_000
"""Kafka's default of ``transaction.max.timeout.ms``."""
TIMES_NEEDED = 2
"""The next checkpoint or restart may be slower than all before."""


@dataclass(frozen=True)
class Commit:
    checkpoint_id: int
    open_ms: int


@dataclass(frozen=True)
class Transactions:
    """``timeout_ms``: the shortest of the job's sinks; ``timeout_is_set``: by an operator of Weir.
    ``pending_ms``: age of the oldest uncommitted transaction. ``restart_ms``: the longest restart.
    """

    timeout_ms: int | None
    timeout_is_set: bool
    commits: Sequence[Commit]
    pending_ms: int | None
    restart_ms: int | None
    lost: Sequence[LogEvent]

    @property
    def longest(self) -> Commit | None:
        return max(self.commits, key=lambda commit: commit.open_ms, default=None)

    @property
    def open_ms(self) -> int | None:
        durations_ms = (self.longest.open_ms if self.longest else None, self.pending_ms)
        return max((ms for ms in durations_ms if ms is not None), default=None)

    @property
    def needed_ms(self) -> int | None:
        return None if self.open_ms is None else self.open_ms + (self.restart_ms or 0)

    @property
    def advised_ms(self) -> int | None:
        return None if self.needed_ms is None else rounded_up_ms(TIMES_NEEDED * self.needed_ms)


def transactions_of(
    checkpoints: Sequence[CheckpointSample],
    starts: Sequence[JobStart],
    events: Sequence[LogEvent],
    at_ms: int,
    since_ms: int = 0,
    set_ms: int = 0,
) -> Transactions:
    """Sequences are in order of time. ``since_ms``: earlier commits and losses do not count.
    ``set_ms``: the time-out set by an operator of Weir, 0 for the one in the log.
    """
    start_times = [
        start.at_ms if start.restore_ms is None else start.running_at_ms - start.restore_ms
        for start in starts
    ]
    commits, triggered_ms = [], 0
    for sample in sorted(completed(checkpoints), key=lambda sample: sample.trigger_time_ms):
        opened_ms = _opened_ms(triggered_ms, start_times, sample.trigger_time_ms)
        if opened_ms and sample.ended_ms >= since_ms:
            commits.append(Commit(sample.checkpoint_id, sample.ended_ms - opened_ms))
        triggered_ms = sample.trigger_time_ms
    pending_from = _opened_ms(triggered_ms, start_times, at_ms)
    newest_start = starts[-1].at_ms if starts else 0
    reported = [
        (event.at_ms, timeout)
        for event in events
        if event.kind in EVENTS_READ and (timeout := event.fields.get("timeout_ms"))
    ]
    timeouts = [timeout for at, timeout in reported if at >= newest_start] or [
        timeout for _, timeout in reported
    ]
    restarts = [
        start.total_ms for start in starts if start.kind == "restart" and start.total_ms is not None
    ]
    return Transactions(
        set_ms or min(timeouts, default=None),
        bool(set_ms),
        commits,
        at_ms - pending_from if pending_from else None,
        max(restarts, default=None),
        [event for event in events if event.kind == LOST and event.at_ms >= since_ms],
    )


def _opened_ms(triggered_ms: int, start_times: Sequence[int], until_ms: int) -> int:
    """When open transactions began: at the trigger of the last completed checkpoint, or at a later
    start of the job, which aborts earlier ones. 0 if unknown.
    """
    return max([triggered_ms, *(start_ms for start_ms in start_times if start_ms <= until_ms)])
