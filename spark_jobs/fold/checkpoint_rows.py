"""Rows of the newest checkpoints are remembered, as more rows may arrive."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from spark_jobs.fold import checkpoint_by_rest, checkpoint_phases
from spark_jobs.fold.rows import (
    LINE,
    Row,
    RowList,
    Rows,
    first_known,
    grouped,
    newest_by,
    newest_rows,
    rank,
)
from spark_jobs.fold.triggers import CheckpointKey, key_of

HELD_MS = 120_000
"""Rows of one checkpoint may arrive in different runs, since sources are read one after another."""
HELD_LEAST, HELD_MOST, PENDING_MOST = 2, 32, 32
VALUES_HELD = 1_000_000

PLACE = ("vertex_id", "task", "subtask", "attempt", "container", "host")
OF_VERTEX = (
    "checkpoint_id",
    "trigger_time",
    "vertex_id",
    "observed_at",
    "status",
    "subtask_state_bytes",
    "subtask_checkpointed_bytes",
    *checkpoint_phases.REPORTED,
)


@dataclass(frozen=True)
class CheckpointRows:
    checkpoints: RowList = ()
    vertex_checkpoints: RowList = ()
    lines: RowList = ()

    def __add__(self, other: "CheckpointRows") -> "CheckpointRows":
        return CheckpointRows(
            [*self.checkpoints, *other.checkpoints],
            [*self.vertex_checkpoints, *other.vertex_checkpoints],
            newest_by(
                [*self.lines, *other.lines],
                (*LINE, "checkpoint_id", "trigger_time"),
                ("observed_at",),
            ),
        )

    def with_numbers(self, numbers: Collection[int]) -> "CheckpointRows":
        parts = (self.checkpoints, self.vertex_checkpoints, self.lines)
        return CheckpointRows(
            *([row for row in rows if row["checkpoint_id"] in numbers] for rows in parts)
        )

    def keys_by_rest(self) -> set[CheckpointKey]:
        return {key_of(row) for row in (*self.checkpoints, *self.vertex_checkpoints)}

    def with_places(self, executions: Rows) -> "tuple[CheckpointRows, list[Row]]":
        """The rows, whose lines have tasks and hosts of ``executions``; the lines that changed."""
        by_id = {row["execution_id"]: row for row in executions}
        lines: list[Row] = []
        changed: list[Row] = []
        for line in self.lines:
            execution = by_id.get(line["execution_id"]) if lacks_place(line) else None
            if execution is not None:
                line = {
                    **line,
                    **{name: first_known(line[name], execution[name]) for name in PLACE},
                }
                changed.append(line)
            lines.append(line)
        return CheckpointRows(self.checkpoints, self.vertex_checkpoints, lines), changed

    def essential(
        self, keys: Collection[CheckpointKey], key_of_line: Mapping[int, CheckpointKey]
    ) -> "CheckpointRows":
        """The rows that suffice for the facts of ``keys``. ``key_of_line``: by line's ``id()``."""
        return CheckpointRows(
            [
                row
                for answers in self._by_key(self.checkpoints, keys)
                for row in _with_newest(
                    answers, checkpoint_by_rest.REPORTED, checkpoint_by_rest.order
                )
            ],
            [
                row
                for answers in self._by_key(self.vertex_checkpoints, keys)
                for vertex_answers in grouped(answers, "vertex_id").values()
                for row in _essential_of_vertex(vertex_answers)
            ],
            [line for line in self.lines if key_of_line.get(id(line)) in keys],
        )

    @staticmethod
    def _by_key(rows: Rows, keys: Collection[CheckpointKey]) -> Iterable[list[Row]]:
        return grouped(
            (row for row in rows if key_of(row) in keys), "checkpoint_id", "trigger_time"
        ).values()


def lacks_place(line: Row) -> bool:
    return line["execution_id"] is not None and (line["task"] is None or line["host"] is None)


def keys_to_hold(
    triggers: Iterable[CheckpointKey],
    pending: Collection[CheckpointKey],
    values_of: Mapping[CheckpointKey, int],
) -> set[CheckpointKey]:
    """The checkpoints whose rows are remembered. ``values_of``: number of values."""
    newest_first = sorted(triggers, key=lambda key: (key[1], key[0]), reverse=True)
    newest_pending = [key for key in newest_first if key in pending][:PENDING_MOST]
    ended = [key for key in newest_first if key not in pending]
    held, values = set(newest_pending[:1] or ended[:1]), 0
    for index, key in enumerate([*newest_pending, *ended[:HELD_MOST]]):
        values += values_of.get(key, 0)
        is_recent = (
            key in pending
            or index - len(newest_pending) < HELD_LEAST
            or key[1] >= newest_first[0][1] - HELD_MS
        )
        if is_recent and values <= VALUES_HELD:
            held.add(key)
    return held


def _essential_of_vertex(rows: RowList) -> list[Row]:
    if len(rows) == 1:
        return [_known_columns(rows[0])]
    kept = _with_newest(rows, checkpoint_phases.REPORTED, checkpoint_phases.order)
    sized = [
        row for row in rows if row["subtask_state_bytes"] and row["subtask_checkpointed_bytes"]
    ]
    best = best_sized(sized) if sized else kept[0]
    if not any(row is best for row in kept):
        kept.append(best)
    return [_known_columns(row) for row in kept]


def best_sized(rows: RowList) -> Row:
    return max(rows, key=lambda row: (rank(row["acknowledged"]), rank(row["subtask_state_bytes"])))


_vertex_values = itemgetter(*OF_VERTEX)


def _known_columns(row: Row) -> Row:
    return (
        row
        if len(row) == len(OF_VERTEX)
        else dict(zip(OF_VERTEX, _vertex_values(row), strict=True))
    )


def _with_newest(rows: RowList, names: Sequence[str], order: Any) -> list[Row]:
    """Rows with the newest known value of a column, and the last row."""
    if len(rows) == 1:
        return list(rows)
    newest = newest_rows(rows, names, order).values()
    last = max(rows, key=lambda row: rank(row["observed_at"]))
    return list({id(row): row for row in (*newest, last)}.values())
