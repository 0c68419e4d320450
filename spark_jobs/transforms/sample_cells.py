"""Samples of whole windows as columns. A *cell* is one subtask in one sample, a *slot* one subtask
in one window; those of a window are side by side, in order of time. Unknown is NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import INSTANT
from spark_jobs.diagnosis.window_contents import WINDOW_MS
from spark_jobs.fold.rows import rank
from spark_jobs.transforms.plain_rows import plain

KEY = ("cluster", "job_id", "vertex_id")
ORDER = (*KEY, "ts", "observed_at", "commit_seq")

_US_PER_MS = 1000

Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Cells:
    """``first_of_window``: each window's first sample; ``subtasks``, ``first_slot``: of each
    window; ``first_cell``: of each sample; ``slot``: of each cell; ``wide``: cells of each sample.
    """

    first_of_window: Ints
    subtasks: Ints
    first_slot: Ints
    first_cell: Ints
    slot: Ints
    wide: Ints
    samples: pa.RecordBatch

    @classmethod
    def of(cls, samples: pa.RecordBatch, per_subtask: Sequence[str]) -> "Cells":
        """``per_subtask``: columns with a value per subtask, with ``task_state``."""
        is_first = begins(samples)
        first = np.flatnonzero(is_first)
        of_window = np.cumsum(is_first) - 1
        wide = np.max([_lengths(samples[name]) for name in per_subtask], axis=0)
        subtasks = np.maximum.reduceat(wide, first)
        first_slot, first_cell = _starts(subtasks), _starts(wide)
        place = np.arange(wide.sum()) - np.repeat(first_cell, wide)
        return cls(
            first,
            subtasks,
            first_slot,
            first_cell,
            np.repeat(first_slot[of_window], wide) + place,
            wide,
            samples,
        )

    @property
    def slots(self) -> int:
        return int(self.subtasks.sum())

    def values(self, name: str) -> tuple[pa.Array, Ints]:
        """All values of a column per subtask, and the cell of each."""
        lengths = _lengths(self.samples[name])
        at = np.arange(lengths.sum()) - np.repeat(_starts(lengths) - self.first_cell, lengths)
        return self.samples[name].flatten(), at

    def reals(self, name: str) -> Reals:
        values, at = self.values(name)
        numbers = np.full(len(self.slot), np.nan)
        numbers[at] = np.asarray(values)
        return numbers

    def texts(self, name: str) -> tuple[Ints, pa.Array]:
        """The index of each cell's text, -1 if there is none; and the texts."""
        values, at = self.values(name)
        encoded = values.dictionary_encode()
        indices = np.full(len(self.slot), -1)
        indices[at] = np.asarray(pc.fill_null(encoded.indices, -1))
        return indices, encoded.dictionary

    def running(self) -> Flags:
        """Whether each cell's task runs, or may; figures of other tasks are meaningless."""
        states, names = self.texts("task_state")
        others = [place for place, name in enumerate(names.to_pylist()) if name != "RUNNING"]
        return ~np.isin(states, others)


def begins(samples: pa.RecordBatch) -> Flags:
    return _changes([*(_codes(samples[name]) for name in KEY), ms_of(samples, "ts") // WINDOW_MS])


def newest_places(samples: pa.RecordBatch) -> Ints:
    """The newest sample of each vertex and instant; in a tie, content decides."""
    key = [*(_codes(samples[name]) for name in KEY), ms_of(samples, "ts")]
    places = np.append(np.flatnonzero(_changes(key))[1:], samples.num_rows) - 1
    tied = set(
        np.flatnonzero(
            ~_changes([*key, ms_of(samples, "observed_at"), _whole(samples["commit_seq"])])
        ).tolist()
    )
    for end in (place for place in places.tolist() if place in tied):
        begin = end
        while begin in tied:
            begin -= 1
        rows = plain(samples.slice(begin, end - begin + 1).to_struct_array())
        largest = max(range(len(rows)), key=lambda place: rank(rows[place]))
        places[places == end] = begin + largest
    return places


def _changes(columns: Sequence[npt.NDArray[Any]]) -> Flags:
    changes = np.zeros(len(columns[0]), bool)
    changes[:1] = True
    for values in columns:
        changes[1:] |= values[1:] != values[:-1]
    return changes


def _codes(values: pa.Array) -> npt.NDArray[Any]:
    codes: npt.NDArray[Any] = np.asarray(values.dictionary_encode(null_encoding="encode").indices)
    return codes


def ms_of(samples: pa.RecordBatch, name: str) -> Ints:
    values = samples[name]
    return _whole(values.cast(INSTANT).cast(pa.int64())) // _US_PER_MS


def _whole(values: pa.Array) -> Ints:
    return np.asarray(pc.fill_null(values, -1))


def _lengths(values: pa.ListArray) -> Ints:
    return np.asarray(pc.fill_null(pc.list_value_length(values), 0)).astype(np.int64)


def _starts(lengths: Ints) -> Ints:
    return np.cumsum(lengths) - lengths


def reals(values: Reals) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def wholes(values: Reals) -> pa.Array:
    return pa.array(np.nan_to_num(values).astype(np.int64), mask=np.isnan(values))


def instants(ms: Ints) -> pa.Array:
    return pa.array(ms * _US_PER_MS).cast(INSTANT)
