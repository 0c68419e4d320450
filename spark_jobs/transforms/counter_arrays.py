"""Record counters of a vertex's subtasks at two instants of a window: in the *newest* answer with
counters, and the *first* with the same attempts.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.transforms.sample_cells import Cells, Flags, Ints, Reals, wholes

COUNTERS = ("attempt", "records_in", "records_out")
AT = "counted_at"


def counters(cells: Cells) -> pa.StructArray:
    """Answers ``newest`` and ``first`` of each window: instant ``at``, arrays over subtasks. Null
    without counters, or if no earlier answer has all subtasks in the same attempts.
    """
    values = {name: cells.reals(name) for name in COUNTERS}
    has_counter = ~np.isnan(values["records_in"]) | ~np.isnan(values["records_out"])
    has_instant = np.asarray(pc.is_valid(cells.samples[AT]))
    is_known = cells.running() & has_counter & ~np.isnan(values["attempt"])
    is_known &= has_instant[_sample_of(cells)]
    newest = _newest(cells, is_known)
    first = _first_of_same(cells, is_known, values["attempt"], newest)
    answers = {"newest": newest, "first": first}
    arrays = [_answers(cells, values, is_known, samples) for samples in answers.values()]
    return pa.StructArray.from_arrays(arrays, names=list(answers))


def _sample_of(cells: Cells) -> Ints:
    return np.repeat(np.arange(len(cells.wide)), cells.wide)


def _newest(cells: Cells, is_known: Flags) -> Ints:
    has_counters = np.bincount(_sample_of(cells)[is_known], minlength=len(cells.wide)) > 0
    return np.maximum.reduceat(
        np.where(has_counters, np.arange(len(cells.wide)), -1), cells.first_of_window
    )


def _first_of_same(cells: Cells, is_known: Flags, attempts: Reals, newest: Ints) -> Ints:
    """The first sample with all counters of the newest sample's attempts, else -1."""
    samples = len(cells.wide)
    is_newest = np.zeros(samples, bool)
    is_newest[newest[newest >= 0]] = True
    in_newest = is_known & is_newest[_sample_of(cells)]
    newest_attempt = np.full(cells.slots, np.nan)
    newest_attempt[cells.slot[in_newest]] = attempts[in_newest]
    is_same = is_known & (attempts == newest_attempt[cells.slot])
    subtasks = np.bincount(_sample_of(cells)[is_same], minlength=samples)
    windows = np.repeat(np.arange(len(newest)), np.diff(np.append(cells.first_of_window, samples)))
    needed = np.where(newest >= 0, subtasks[np.maximum(newest, 0)], -1)[windows]
    firsts = np.minimum.reduceat(
        np.where(subtasks == needed, np.arange(samples), samples), cells.first_of_window
    )
    return np.where((newest >= 0) & (firsts < newest), firsts, -1)


def _answers(
    cells: Cells, values: dict[str, Reals], is_known: Flags, samples: Ints
) -> pa.StructArray:
    is_present = samples >= 0
    wide = np.where(is_present, cells.wide[np.maximum(samples, 0)], 0)
    starts = np.cumsum(wide) - wide
    # The cells of a sample are side by side.
    cell = (
        np.arange(wide.sum())
        - np.repeat(starts, wide)
        + np.repeat(cells.first_cell[np.maximum(samples, 0)], wide)
    )
    ends = pa.array(np.append(starts, wide.sum()).astype(np.int32))
    lists = [
        pa.ListArray.from_arrays(ends, wholes(np.where(is_known[cell], values[name][cell], np.nan)))
        for name in COUNTERS
    ]
    instants = cells.samples[AT].take(pa.array(samples, mask=~is_present))
    return pa.StructArray.from_arrays(
        [instants, *lists], names=["at", *COUNTERS], mask=pa.array(~is_present)
    )
