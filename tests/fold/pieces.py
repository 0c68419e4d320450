"""One job told in two runs: the second gets what the first remembered, and of the lake what it asks
for.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from spark_jobs.fold.checkpoint_log import KINDS_OF_CHECKPOINT
from spark_jobs.fold.checkpoints import Lookup
from spark_jobs.fold.job import JobResult, fold
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.rows import Row
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.fold.state import JobState, unpacked
from spark_jobs.fold.triggers import CheckpointKey, key_of

PARTS = (
    "answers",
    "checkpoints",
    "vertex_checkpoints",
    "events",
    "exceptions",
    "placements",
    "vertex_starts",
    "vertex_gauges",
    "uploads",
    "snapshots",
    "taskmanagers",
)


@dataclass(frozen=True)
class TwoRuns:
    """``facts``: as the database holds them after both."""

    first: JobResult
    second: JobResult
    facts: dict[CheckpointKey, Row]
    lookup: Lookup | None


def split(job: JobUpdate, is_early: Callable[[Row], bool]) -> tuple[JobUpdate, JobUpdate]:
    return _where(job, is_early), _where(job, lambda row: not is_early(row))


def told(job: JobUpdate, before: JobState, settings: Settings) -> JobResult:
    """Where nothing has to be looked up."""
    result = fold(job, before, settings)
    assert isinstance(result, JobResult), result
    return result


def in_two_runs(early: JobUpdate, late: JobUpdate, settings: Settings) -> TwoRuns:
    """Like one run over both, as far as bounds of what is kept are not reached."""
    first = told(early, JobState(), settings)
    before = unpacked(first.state.packed())
    late = replace(late, has_older_snapshots=bool(early.snapshots))
    second, lookup = fold(late, before, settings), None
    if isinstance(second, Lookup):
        lookup = second
        second = told(with_found(late, early, second), before, settings)
    known = {key_of(fact): fact for fact in first.facts if key_of(fact) not in second.retracted}
    facts = {**known, **{key_of(fact): fact for fact in second.facts}}
    return TwoRuns(first, second, facts, lookup)


def with_found(late: JobUpdate, early: JobUpdate, lookup: Lookup) -> JobUpdate:
    """What the lake holds by the time of the second run."""

    def of(name: str, instant: str, to_ms: int = lookup.to_ms) -> list[Row]:
        return [
            row
            for row in (*getattr(early, name), *getattr(late, name))
            if row[instant] is None or lookup.from_ms <= row[instant] <= to_ms
        ]

    return replace(
        late,
        looked_up_span=(lookup.from_ms, lookup.to_ms),
        earlier_checkpoints=of("checkpoints", "trigger_time"),
        earlier_vertex_checkpoints=of("vertex_checkpoints", "trigger_time"),
        earlier_lines=[
            line
            for line in of("events", "ts", lookup.to_ms + 86_400_000)
            if line["kind"] in KINDS_OF_CHECKPOINT
        ],
        earlier_snapshots=[*early.snapshots, *late.snapshots] if lookup.keys else (),
    )


def _where(job: JobUpdate, is_wanted: Callable[[Row], bool]) -> JobUpdate:
    return replace(
        job, **{name: [row for row in getattr(job, name) if is_wanted(row)] for name in PARTS}
    )
