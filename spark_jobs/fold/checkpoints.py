"""Recomputes facts of checkpoints that new rows concern, from all their rows; forgotten rows are
looked up in the lake.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

from spark_jobs.diagnosis.window_contents import CHECKPOINTS, OVER_STATES, WINDOW_MS
from spark_jobs.fold import triggers
from spark_jobs.fold.checkpoint_facts import JobSurroundings, checkpoint_facts
from spark_jobs.fold.checkpoint_log import KINDS_OF_CHECKPOINT
from spark_jobs.fold.checkpoint_rows import CheckpointRows, keys_to_hold, lacks_place
from spark_jobs.fold.endings import COORDINATOR_STOPPED, STATE_CHANGED, reported_states
from spark_jobs.fold.failures import is_failure
from spark_jobs.fold.full_sizes import FullSizes
from spark_jobs.fold.job_update import JobUpdate
from spark_jobs.fold.older_facts import OlderFacts, trigger_order
from spark_jobs.fold.outcomes import DROPPED_WITHIN_MS, LOST_WITH_JOB
from spark_jobs.fold.retention import JUDGED_AGAIN_MS
from spark_jobs.fold.rows import HOUR_MS, LINE, Row, Rows, largest, percentile
from spark_jobs.fold.state import JobState
from spark_jobs.fold.triggers import CheckpointKey, key_of
from spark_jobs.serving import CHECKPOINT_FACT

FACTS_KEPT, FACTS_KEPT_MOST = CHECKPOINTS + 4, 300
"""Facts kept one by one: at least those of a window's look-back, and all that may be judged again.
"""
WITH_TEXTS = 16
UNPLACED_KEPT = 200
SIZED_LATE_MS = 24 * HOUR_MS
"""A new ``_metadata`` concerns no checkpoint that is this much older than the kept facts."""

# Only a fact's page and the rules about the newest failures need these texts.
_TEXTS = (
    *(column.name for column in CHECKPOINT_FACT.columns if column.kind == "json"),
    "failure_message",
)
_UNREAD = ("exception", "sources")
_STATE_KINDS = (COORDINATOR_STOPPED, *STATE_CHANGED)


class Lookup(NamedTuple):
    """Rows needed from the lake: of checkpoints triggered from ``from_ms`` to ``to_ms`` (included),
    snapshots with ``keys`` (``wanted_snapshots``), and metric samples of ``minutes`` (starts).
    """

    from_ms: int
    to_ms: int
    keys: tuple[str, ...] = ()
    minutes: tuple[int, ...] = ()


NO_CHECKPOINTS = (0, -1)


@dataclass(frozen=True)
class Checkpoints:
    """``rows``: of the recomputed facts. ``retracted``: former keys of facts. ``known``: all facts
    in memory; ``older``: a summary of forgotten facts. ``remembered``: fields of the next state.
    """

    recomputed: dict[CheckpointKey, Row]
    retracted: list[CheckpointKey]
    known: dict[CheckpointKey, Row]
    older: OlderFacts
    rows: CheckpointRows
    remembered: Row


def checkpoints(update: JobUpdate, before: JobState, job: JobSurroundings) -> Checkpoints | Lookup:
    """A ``Lookup`` if earlier rows are needed and ``update`` has none yet."""
    known_rows, newly_placed = CheckpointRows(
        before.checkpoints, before.vertex_checkpoints, before.lines
    ).with_places(update.executions)
    new_rows = CheckpointRows(
        update.checkpoints,
        update.vertex_checkpoints,
        [event for event in update.events if event["kind"] in KINDS_OF_CHECKPOINT],
    )
    rows = (
        known_rows
        + new_rows
        + CheckpointRows(
            update.earlier_checkpoints, update.earlier_vertex_checkpoints, update.earlier_lines
        )
    )
    known_triggers = triggers.merged(
        triggers.triggers_of_rows(before.triggers),
        triggers.known_triggers(rows.checkpoints, rows.vertex_checkpoints, rows.lines),
    )
    anchored = triggers.anchored(rows.lines, known_triggers)
    key_of_line = {id(line): key for key, lines in anchored.items() for line in lines}

    held_keys = {key_of(row) for row in before.anchors}
    stand_ins = {key_of(row) for row in before.stand_ins}

    def is_held(key: CheckpointKey) -> bool:
        return key in held_keys or before.released_to is None or key[1] > before.released_to

    new_lines = {_line_identity(line) for line in (*new_rows.lines, *newly_placed)}
    touched = new_rows.keys_by_rest() | {
        key_of_line[id(line)]
        for line in rows.lines
        if id(line) in key_of_line and _line_identity(line) in new_lines
    }
    snapshots = [*before.snapshots, *update.snapshots, *update.earlier_snapshots]
    full_sizes = FullSizes(update.job_id, snapshots, known_triggers)
    sized, written_ms = _sized_by_now(update, before, job, full_sizes, known_triggers)
    touched |= sized | _perhaps_ended(update, before) | _perhaps_explained(update, before)
    placed = {row["execution_id"] for row in update.executions}
    touched |= {key_of(row) for row in before.unplaced if row["execution_id"] in placed}
    numbers = {number for number, _ in touched}
    touched |= {key for key in stand_ins if key[0] in numbers}
    touched |= {key for key in (*known_triggers, *held_keys) if key[0] in numbers and is_held(key)}
    missing_ms = [*written_ms, *(key[1] for key in touched if not is_held(key))]
    if missing_ms and update.looked_up_span is None:
        return Lookup(min(missing_ms) - _looked_back_ms(before), max(missing_ms))

    rows_read = rows.with_numbers(numbers)
    needed_lines = {
        key: lines for key, lines in anchored.items() if update.looked_up_span or key[0] in numbers
    }
    facts = checkpoint_facts(
        rows if update.looked_up_span else rows_read, needed_lines, job, full_sizes
    )
    recomputed = {key: fact for key, fact in facts.items() if key in touched}
    retracted = {key for key in stand_ins & touched if key not in recomputed}
    known = {
        **_facts_looked_up(facts, update, known_triggers),
        **{key: fact for fact in before.facts if (key := key_of(fact)) not in retracted},
        **recomputed,
    }
    return Checkpoints(
        recomputed,
        sorted(retracted),
        known,
        before.older.without(known.keys() | retracted),
        rows_read,
        {
            **_rows_remembered(rows, known, key_of_line, before, update),
            "triggers": triggers.as_rows(known_triggers),
            "stand_ins": _as_rows(
                (stand_ins - touched) | {key for key in recomputed if key not in known_triggers}
            ),
        },
    )


def facts_remembered(checkpoints: Checkpoints, before: JobState, judged_start: int | None) -> Row:
    """Fields of the next state: newest facts and a summary of others. Windows from ``judged_start``
    on may be judged again.
    """
    newest_first = sorted(checkpoints.known.values(), key=trigger_order, reverse=True)
    since_ms = inf if judged_start is None else judged_start - JUDGED_AGAIN_MS
    recent = sum(fact["trigger_time"] >= since_ms for fact in newest_first)
    kept = min(recent + FACTS_KEPT, FACTS_KEPT_MOST)
    settled = [fact for fact in newest_first[kept:] if fact["final"]]
    pending = [fact for fact in newest_first[kept:] if not fact["final"]]
    in_order = [
        _remembered_fact(fact, index < WITH_TEXTS)
        for index, fact in enumerate([*newest_first[:kept], *pending])
    ][::-1]
    facts_since = before.facts_since
    if settled or facts_since is not None:
        facts_since = newest_first[:kept][-1]["trigger_time"]
    return {
        "facts": in_order,
        "facts_since": facts_since,
        "older": checkpoints.older.joined_by(settled),
    }


def history_lookup(known: Rows, before: JobState, starts_ms: Iterable[int]) -> Lookup | None:
    """A lookup if too few kept checkpoints precede windows that start at ``starts_ms``."""
    if before.facts_since is None:
        return None
    kept = [fact["trigger_time"] for fact in known if fact["trigger_time"] >= before.facts_since]
    short = [
        start for start in starts_ms if sum(at < start + WINDOW_MS for at in kept) < CHECKPOINTS
    ]
    return Lookup(min(short) - _looked_back_ms(before), max(short) + WINDOW_MS) if short else None


def _looked_back_ms(before: JobState) -> int:
    """Time that probably contains twice as many checkpoints as a window needs."""
    in_order = sorted(fact["trigger_time"] for fact in before.facts)
    usual_ms = percentile((later - earlier for earlier, later in pairwise(in_order)), 0.9) or 0
    return min(max(2 * round(usual_ms) * CHECKPOINTS, HOUR_MS // 6), 24 * HOUR_MS)


def _perhaps_ended(update: JobUpdate, before: JobState) -> set[CheckpointKey]:
    """Pending checkpoints that the job may have dropped, by new rows."""
    ended = any(answer["state"] in OVER_STATES for answer in update.answers) or any(
        event["kind"] in _STATE_KINDS for event in update.events
    )
    return {key_of(fact) for fact in before.facts if not fact["final"]} if ended else set()


def _perhaps_explained(update: JobUpdate, before: JobState) -> set[CheckpointKey]:
    """Lost checkpoints near new failures or states of the job."""
    dropped = [
        fact
        for fact in before.facts
        if fact["final"] and (fact["outcome"] == "aborted" or fact["reason"] in LOST_WITH_JOB)
    ]
    if not dropped:
        return set()
    known_states = {state for answer in before.answers for state in reported_states(answer)}
    states = {state for answer in update.answers for state in reported_states(answer)}
    known_failures = set(map(_failure_identity, before.failures))
    known_lines = set(map(_line_identity, before.events))
    instants = {
        *(at for at, _ in states - known_states),
        *(row["ts"] for row in update.exceptions if _failure_identity(row) not in known_failures),
        *(
            event["ts"]
            for event in update.events
            if (is_failure(event) or event["kind"] in _STATE_KINDS)
            and _line_identity(event) not in known_lines
        ),
    }
    return {
        key_of(fact)
        for fact in dropped
        if any(
            fact["trigger_time"]
            <= at
            <= (fact["end_time"] or fact["trigger_time"]) + DROPPED_WITHIN_MS
            for at in instants
        )
    }


def _sized_by_now(
    update: JobUpdate,
    before: JobState,
    job: JobSurroundings,
    full_sizes: FullSizes,
    known: Mapping[CheckpointKey, Any],
) -> tuple[set[CheckpointKey], list[int]]:
    """Checkpoints that new ``_metadata`` may size, and times of files of unknown checkpoints."""
    if not update.snapshots or not job.writing.may_lack_full_size:
        return set(), []
    lacking = (fact for fact in before.facts if fact["state_bytes"] is None)
    sized = {
        key_of(fact)
        for fact in lacking
        if full_sizes.of(key_of(fact), fact["external_path"]) is not None
    }
    if before.facts_since is None:
        return sized, []
    answered = {
        fact["checkpoint_id"] for fact in before.facts if fact["state_bytes"] is not None
    } | {number for number, _ in sized}
    numbers = {row["checkpoint_id"] for row in update.snapshots} - answered
    looked_at = range(before.facts_since - SIZED_LATE_MS, before.facts_since)
    older = {key for key in known if key[0] in numbers and key[1] in looked_at}
    unknown = numbers - {number for number, _ in known}
    written = (
        row["metadata_modified"] for row in update.snapshots if row["checkpoint_id"] in unknown
    )
    return sized | older, [at for at in written if at in looked_at]


def _facts_looked_up(
    facts: Mapping[CheckpointKey, Row], update: JobUpdate, known: Mapping[CheckpointKey, Any]
) -> dict[CheckpointKey, Row]:
    if update.looked_up_span is None:
        return {}
    from_ms, to_ms = update.looked_up_span
    return {key: fact for key, fact in facts.items() if key in known and from_ms <= key[1] <= to_ms}


def _rows_remembered(
    rows: CheckpointRows,
    known: Mapping[CheckpointKey, Row],
    key_of_line: Mapping[int, CheckpointKey],
    before: JobState,
    update: JobUpdate,
) -> Row:
    keys = rows.keys_by_rest() | set(key_of_line.values())
    values = Counter[CheckpointKey]()
    for row in rows.vertex_checkpoints:
        values[key_of(row)] += 9 * (row["subtasks"] or 0)
    held = keys_to_hold(
        keys, {key for key in keys if key in known and not known[key]["final"]}, values
    )
    kept = rows.essential(held, key_of_line)
    placed = {row["execution_id"] for row in update.executions}
    unplaced = [row for row in before.unplaced if row["execution_id"] not in placed]
    for line in rows.lines:
        key = key_of_line.get(id(line))
        if key is not None and key not in held and lacks_place(line):
            unplaced.append({"execution_id": line["execution_id"], **_as_row(key)})
    return {
        "checkpoints": kept.checkpoints,
        "vertex_checkpoints": kept.vertex_checkpoints,
        "lines": kept.lines,
        "anchors": _as_rows(held),
        "released_to": largest(before.released_to, *(key[1] for key in keys - held)),
        "unplaced": unplaced[-UNPLACED_KEPT:],
    }


def _remembered_fact(fact: Row, with_texts: bool) -> Row:
    left_out = () if with_texts else _TEXTS
    return {
        name: None if name in left_out else value
        for name, value in fact.items()
        if name not in _UNREAD
    }


def _as_row(key: CheckpointKey) -> dict[str, int]:
    return {"checkpoint_id": key[0], "trigger_time": key[1]}


def _as_rows(keys: Iterable[CheckpointKey]) -> list[dict[str, int]]:
    return [_as_row(key) for key in sorted(keys)]


_line_identity = itemgetter(*LINE)
_failure_identity = itemgetter("ts", "task_key", "exception_name")
