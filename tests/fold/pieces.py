"""One job told in two runs: what a run gets of rows that came before, as the steps of a cycle look it up."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from spark_jobs.diagnosis.window_contents import CHECKPOINTS
from spark_jobs.fold.checkpoint_facts import stand_ins
from spark_jobs.fold.job import JobNews, JobResult, fold
from spark_jobs.fold.judging import Settings
from spark_jobs.fold.rows import Row
from spark_jobs.fold.state import JobState, unpacked
from spark_jobs.fold.triggers import Key, anchored, key_of, known_triggers
from spark_jobs.transforms.folding import SIZES

PARTS = ("answers", "checkpoints", "vertex_checkpoints", "events", "lines", "exceptions", "placements", "uploads")
_OF_CHECKPOINTS = ("checkpoints", "vertex_checkpoints", "lines")


@dataclass(frozen=True)
class TwoRuns:
    """``facts``: as the database holds them after both."""

    first: JobResult
    second: JobResult
    facts: dict[Key, Row]


def split(job: JobNews, is_early: Callable[[Row], bool]) -> tuple[JobNews, JobNews]:
    return _where(job, is_early), _where(job, lambda row: not is_early(row))


def in_two_runs(early: JobNews, late: JobNews, settings: Settings) -> TwoRuns:
    """Like one run over both, as far as bounds of what is kept are not reached."""
    first = fold(early, JobState(), settings)
    told = {key_of(fact): fact for fact in first.facts}
    whole = replace(late, **{name: [*getattr(early, name), *getattr(late, name)] for name in _OF_CHECKPOINTS})
    touched = _touched(late, whole, told, stand_ins(told, early.checkpoints, early.vertex_checkpoints, early.lines))
    numbers = {number for number, _ in touched}
    of_touched = {name: [row for row in getattr(whole, name) if row["checkpoint_id"] in numbers] for name in _OF_CHECKPOINTS}
    since = min((trigger_time for _, trigger_time in touched), default=None)
    news = replace(
        late,
        **of_touched,
        touched=[{"checkpoint_id": number, "trigger_time": at} for number, at in touched],
        facts=_looked_back(told.values(), late, since),
        sizes=[{name: fact[name] for name in SIZES} for fact in told.values()],
    )
    second = fold(news, unpacked(first.state.packed()), settings)
    known = {key: fact for key, fact in told.items() if key not in touched}
    return TwoRuns(first, second, {**known, **{key_of(fact): fact for fact in second.facts}})


def _where(job: JobNews, is_wanted: Callable[[Row], bool]) -> JobNews:
    return replace(job, **{name: [row for row in getattr(job, name) if is_wanted(row)] for name in PARTS})


def _touched(late: JobNews, whole: JobNews, told: dict[Key, Row], stood_in: set[Key]) -> set[Key]:
    """What new rows tell of, what may have ended, and what stood in for it."""
    known = known_triggers(whole.checkpoints, whole.vertex_checkpoints, whole.lines)
    by_rows = {key_of(row) for row in (*late.checkpoints, *late.vertex_checkpoints)} | anchored(late.lines, known).keys()
    numbers = {number for number, _ in by_rows}
    pending = {key for key, fact in told.items() if not fact["final"]}
    return by_rows | pending | {key for key in stood_in if key[0] in numbers}


def _looked_back(facts: Iterable[Row], late: JobNews, since: int | None) -> list[Row]:
    instants = [
        *(row["observed_at"] for row in late.answers), *(min(event["ts"], event["observed_at"]) for event in late.events),
        *(row["ts"] for row in late.exceptions), *(row["as_of"] for row in late.uploads), *([since] if since is not None else ()),
    ]  # fmt: skip
    earliest = min(instants, default=0)
    newest_first = sorted(facts, key=lambda fact: (fact["trigger_time"], fact["checkpoint_id"]), reverse=True)
    after = [fact for fact in newest_first if fact["trigger_time"] >= earliest]
    return after + [fact for fact in newest_first if fact["trigger_time"] < earliest][:CHECKPOINTS]
