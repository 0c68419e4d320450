"""Counters of the subtasks of a vertex at two instants of a window: in the *newest* answer with
counters, and the *first* one of the same attempts. Executors import this module: nothing but Arrow
and NumPy.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.transforms.sample_cells import Cells, Flags, Ints, Reals

COUNTERS = ("attempt", "records_in", "records_out")
AT = "counted_at"


def counters(cells: Cells) -> pa.StructArray:
    """``at`` and arrays over subtasks. ``newest`` is null if no answer has counters, ``first`` if
    no earlier one has all subtasks in the same attempts.
    """
    read = {name: cells.reals(name) for name in COUNTERS}
    counts = ~np.isnan(read["records_in"]) | ~np.isnan(read["records_out"])
    known = (
        cells.running() & counts & ~np.isnan(read["attempt"]) & _is_dated(cells)[_sample_of(cells)]
    )
    newest = _newest(cells, known)
    first = _first_of_same(cells, known, read["attempt"], newest)
    parts = {"newest": newest, "first": first}
    arrays = [_answers(cells, read, known, places) for places in parts.values()]
    return pa.StructArray.from_arrays(arrays, names=list(parts))


def _is_dated(cells: Cells) -> Flags:
    dated: Flags = pc.is_valid(cells.samples[AT]).to_numpy(zero_copy_only=False)
    return dated


def _sample_of(cells: Cells) -> Ints:
    return np.repeat(np.arange(len(cells.wide)), cells.wide)


def _newest(cells: Cells, known: Flags) -> Ints:
    counted = np.bincount(_sample_of(cells)[known], minlength=len(cells.wide)) > 0
    return np.maximum.reduceat(
        np.where(counted, np.arange(len(cells.wide)), -1), cells.first_of_window
    )


def _first_of_same(cells: Cells, known: Flags, attempts: Reals, newest: Ints) -> Ints:
    samples = len(cells.wide)
    is_newest = np.zeros(samples, bool)
    is_newest[newest[newest >= 0]] = True
    wanted = known & is_newest[_sample_of(cells)]
    attempt_of_slot = np.full(cells.slots, np.nan)
    attempt_of_slot[cells.slot[wanted]] = attempts[wanted]
    same = known & (attempts == attempt_of_slot[cells.slot])
    subtasks = np.bincount(_sample_of(cells)[same], minlength=samples)
    windows = np.repeat(np.arange(len(newest)), np.diff(np.append(cells.first_of_window, samples)))
    needed = np.where(newest >= 0, subtasks[np.maximum(newest, 0)], -1)[windows]
    firsts = np.minimum.reduceat(
        np.where(subtasks == needed, np.arange(samples), samples), cells.first_of_window
    )
    return np.where((newest >= 0) & (firsts < newest), firsts, -1)


def _answers(cells: Cells, read: dict[str, Reals], known: Flags, places: Ints) -> pa.StructArray:
    there = places >= 0
    wide = np.where(there, cells.wide[np.maximum(places, 0)], 0)
    starts = np.cumsum(wide) - wide
    # The cells of a sample lie side by side.
    at = (
        np.arange(wide.sum())
        - np.repeat(starts, wide)
        + np.repeat(cells.first_cell[np.maximum(places, 0)], wide)
    )
    ends = pa.array(np.append(starts, wide.sum()).astype(np.int32))
    lists = [
        pa.ListArray.from_arrays(ends, _wholes(read[name][at], known[at])) for name in COUNTERS
    ]
    instants = cells.samples[AT].take(pa.array(places, mask=~there))
    return pa.StructArray.from_arrays(
        [instants, *lists], names=["at", *COUNTERS], mask=pa.array(~there)
    )


def _wholes(values: Reals, known: Flags) -> pa.Array:
    return pa.array(np.nan_to_num(values).astype(np.int64), mask=~known | np.isnan(values))
