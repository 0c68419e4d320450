"""Samples of the TaskManagers on which a job has slots. Memory that a restart leaks stays until the
JVM ends, so the newest sample between two restarts, of a *spell*, is kept.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import itemgetter

from spark_jobs.diagnosis.samples import TaskManagerSample
from spark_jobs.fold.history import sample
from spark_jobs.fold.rows import HOUR_MS, Row, Rows, newest_by

COLUMNS = (
    "ts",
    "commit_seq",
    *(field.name for field in fields(TaskManagerSample) if field.name not in ("at_ms", "restarts")),
)
RECENT_MS = 180_000
"""One sample a minute is kept: counters are compared from minute to minute."""
SPELLS_KEPT, TASKMANAGERS_KEPT = 12, 40
GONE_AFTER_MS = HOUR_MS
SAME_WITHIN_MS = 1000
"""REST and log date one restart some milliseconds apart."""
_MINUTE_MS = 60_000


def restarts_of(states: Iterable[tuple[int, str]]) -> list[int]:
    instants: list[int] = []
    for at_ms in sorted(at_ms for at_ms, state in states if state == "RESTARTING"):
        if not instants or at_ms - instants[-1] >= SAME_WITHIN_MS:
            instants.append(at_ms)
    return instants


class TaskManagerHistory:
    def __init__(self, rows: Rows, restarts: Sequence[int]) -> None:
        self._thinned = _newest_of_minutes(rows, restarts)
        self._instants = [row["ts"] for row in self._thinned]
        self._rows_read = 0
        self._last_of_spell: dict[str, dict[int, Row]] = {}

    def remembered(self) -> list[Row]:
        return self._rows_before(self._instants[-1] + 1) if self._instants else []

    def before(self, end_ms: int) -> tuple[TaskManagerSample, ...]:
        return tuple(sample(TaskManagerSample, row) for row in self._rows_before(end_ms))

    def _rows_before(self, end_ms: int) -> list[Row]:
        if self._rows_read and self._instants[self._rows_read - 1] >= end_ms:
            self._rows_read, self._last_of_spell = 0, {}
        while self._rows_read < len(self._instants) and self._instants[self._rows_read] < end_ms:
            row = self._thinned[self._rows_read]
            spells = self._last_of_spell.setdefault(row["taskmanager_id"], {})
            spells[row["restarts"]] = row
            if len(spells) > SPELLS_KEPT:
                del spells[min(spells)]
            self._rows_read += 1
        newest = {
            name: max(row["ts"] for row in spells.values())
            for name, spells in self._last_of_spell.items()
        }
        present = sorted(
            (-at, name) for name, at in newest.items() if at >= end_ms - GONE_AFTER_MS
        )[:TASKMANAGERS_KEPT]
        names = {name for _, name in present}
        recent = self._thinned[bisect_left(self._instants, end_ms - RECENT_MS) : self._rows_read]
        retained = [row for name in names for row in self._last_of_spell[name].values()]
        retained += [row for row in recent if row["taskmanager_id"] in names]
        rows_by_key = {(row["ts"], row["taskmanager_id"]): row for row in retained}
        return [rows_by_key[key] for key in sorted(rows_by_key)]


def _newest_of_minutes(rows: Rows, restarts: Sequence[int]) -> list[Row]:
    counted = (
        {
            **{name: row[name] for name in COLUMNS},
            "restarts": bisect_right(restarts, row["ts"]),
            "minute": row["ts"] // _MINUTE_MS,
        }
        for row in rows
    )
    newest = newest_by(counted, ("taskmanager_id", "restarts", "minute"), ("ts", "commit_seq"))
    return sorted(newest, key=itemgetter("ts", "taskmanager_id"))
