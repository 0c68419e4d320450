"""Phases of one checkpoint per subtask, read from the lake: the newest observation of each vertex."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_jobs.fold.checkpoint_by_rest import is_final
from spark_jobs.fold.checkpoint_phases import is_last
from spark_jobs.fold.sizes import sizes_in_rest
from webapp.work.lake import lake


@dataclass(frozen=True)
class SubtaskPart:
    """A subtask's part of a checkpoint. ``acknowledged_at``: None if there is none, or it aborted."""

    vertex_id: str
    vertex_name: str
    subtask: int
    acknowledged_at: datetime | None
    end_to_end_ms: int | None
    start_delay_ms: int | None
    alignment_ms: int | None
    sync_ms: int | None
    async_ms: int | None
    state_bytes: int | None
    checkpointed_bytes: int | None
    unaligned: bool | None
    aborted: bool | None

    @property
    def is_silent(self) -> bool:
        return self.acknowledged_at is None

    @property
    def known_ms(self) -> int:
        phases = (self.start_delay_ms, self.alignment_ms, self.sync_ms, self.async_ms)
        return (
            self.end_to_end_ms if self.end_to_end_ms is not None else sum(ms or 0 for ms in phases)
        )


def in_order(parts: Iterable[SubtaskPart]) -> list[SubtaskPart]:
    return sorted(
        parts, key=lambda part: (not part.is_silent, -part.known_ms, part.vertex_name, part.subtask)
    )


MOST_ROWS = 2_000
_LISTS = (
    "subtask_ack_time",
    "subtask_end_to_end_ms",
    "subtask_start_delay_ms",
    "subtask_alignment_ms",
    "subtask_sync_ms",
    "subtask_async_ms",
    "subtask_state_bytes",
    "subtask_checkpointed_bytes",
    "subtask_unaligned",
    "subtask_aborted",
)
_COLUMNS = (
    "vertex_id",
    "trigger_time",
    "status",
    "subtasks",
    "acknowledged",
    "observed_at",
    "commit_seq",
    *_LISTS,
)


def read_parts(
    cluster: str,
    job_id: str,
    checkpoint_id: int,
    trigger_time: datetime,
    names: Mapping[str, str],
    *,
    ended: bool,
) -> list[SubtaskPart]:
    """Subtasks that did not acknowledge, then the others, slowest first. Empty if REST was not
    asked for subtasks. If the checkpoint has ``ended``, vertices that still waited for subtasks are
    left out.
    """
    table = lake().read(
        "vertex_checkpoints",
        where={"cluster": cluster, "job_id": job_id, "checkpoint_id": checkpoint_id},
        from_time=trigger_time,
        to_time=trigger_time,
        columns=_COLUMNS,
        limit=MOST_ROWS,
    )
    rows = table.to_pylist()
    return parts_of([row for row in rows if is_last(row)] if ended else rows, names)


def parts_of(rows: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[SubtaskPart]:
    """Parts of each vertex's best row: with lists, settled, most acknowledged, newest."""
    best: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        best_row = best.get(row["vertex_id"])
        if best_row is None or _rank(row) > _rank(best_row):
            best[row["vertex_id"]] = row
    return in_order([part for row in best.values() for part in _subtasks(row, names)])


def _rank(row: Mapping[str, Any]) -> tuple[bool, bool, int, datetime, int]:
    return (
        any(row[name] for name in _LISTS),
        is_final(row["status"]),
        row["acknowledged"] or 0,
        row["observed_at"],
        row["commit_seq"],
    )


def _subtasks(row: Mapping[str, Any], names: Mapping[str, str]) -> Iterable[SubtaskPart]:
    count = max((len(row[name] or ()) for name in _LISTS), default=0)
    for subtask in range(count):
        values = {name: _at(row[name], subtask) for name in _LISTS}
        if values["subtask_aborted"]:
            values["subtask_ack_time"] = None
        size = sizes_in_rest(values["subtask_state_bytes"], values["subtask_checkpointed_bytes"])
        values |= {"subtask_state_bytes": size.full, "subtask_checkpointed_bytes": size.uploaded}
        yield SubtaskPart(
            row["vertex_id"],
            names.get(row["vertex_id"]) or row["vertex_id"][:8],
            subtask,
            *values.values(),
        )


def _at(values: list[Any] | None, position: int) -> Any:
    return values[position] if values and position < len(values) else None
