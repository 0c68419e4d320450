"""Checkpoints that provably never completed, by job directory: which files are of one of them."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import in_microseconds
from spark_jobs.audit_request import JOB_SCHEMA
from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import Flags, Numbers, known, numbers
from spark_jobs.storage.owners import LEFT_AFTER_S
from spark_jobs.storage.plain import US_PER_S

FAILED = in_microseconds(JOB_SCHEMA.field("checkpoints_ended").type)


class FailedCheckpoints:
    """``failed``: a list for each directory, by number; ``lost``: reasons told apart."""

    def __init__(self, failed: pa.Array, lost: tuple[str, ...]) -> None:
        ends = pc.list_flatten(failed)
        lengths = pc.fill_null(pc.list_value_length(failed), 0).to_numpy(zero_copy_only=False)
        self._begin = np.concatenate([[0], np.cumsum(lengths)])
        self._number, self._since, ended = (
            numbers(pc.struct_field(ends, name))
            for name in ("checkpoint_id", "triggered_at", "ended_at")
        )
        self._until = np.where(known(ended), ended, self._since) + LEFT_AFTER_S * US_PER_S
        self._lost = arrays.flags(
            pc.is_in(pc.struct_field(ends, "reason"), value_set=pa.array(lost))
        )

    def of_number_and_time(
        self, at: Numbers, number: Numbers, modified: Numbers, rows: Numbers, before_s: int
    ) -> Flags:
        """Whether a failed checkpoint of that number was under way when a file was written; for
        files by their directory (``at``), only for ``rows``.
        """
        is_failed = np.zeros(len(at), np.bool_)
        for mine, of in self._by_directory(at, rows):
            for row in mine:
                timed = (
                    known(self._since[of])
                    & (modified[row] >= self._since[of] - before_s * US_PER_S)
                    & (modified[row] <= self._until[of])
                )
                is_failed[row] = known(number[row]) and bool(
                    np.any(timed & (self._number[of] == number[row]))
                )
        return is_failed

    def of_number_or_time(
        self, at: Numbers, number: Numbers, modified: Numbers, rows: Numbers
    ) -> tuple[Flags, Flags]:
        """Whether a file is of a failed checkpoint (by its number if it has one, else by its time),
        and whether of a ``lost`` one.
        """
        any_of, lost_of = np.zeros(len(at), np.bool_), np.zeros(len(at), np.bool_)
        for mine, of in self._by_directory(at, rows):
            numbered = known(number[mine])
            for flags, chosen in (
                (any_of, np.ones(len(self._lost[of]), np.bool_)),
                (lost_of, self._lost[of]),
            ):
                flags[mine[numbered]] = np.isin(number[mine[numbered]], self._number[of][chosen])
                timed = chosen & known(self._since[of])
                flags[mine[~numbered]] = _within(
                    modified[mine[~numbered]], self._since[of][timed], self._until[of][timed]
                )
        return any_of, lost_of

    def _by_directory(self, at: Numbers, rows: Numbers) -> Iterator[tuple[Numbers, slice]]:
        """Rows by directory, with the range of its checkpoints."""
        rows = rows[self._begin[at[rows]] < self._begin[at[rows] + 1]]
        order = rows[np.argsort(at[rows], kind="stable")]
        directories, first = np.unique(at[order], return_index=True)
        for directory, mine in (
            zip(directories, np.split(order, first[1:]), strict=True) if len(directories) else ()
        ):
            yield mine, slice(self._begin[directory], self._begin[directory + 1])


def _within(instants: Numbers, since: Numbers, until: Numbers) -> Flags:
    """Whether each is in any of these spans, ends included."""
    order = np.argsort(since, kind="stable")
    reached = np.maximum.accumulate(until[order]) if len(order) else until
    place = np.searchsorted(since[order], instants, side="right") - 1
    is_within = np.zeros(len(instants), np.bool_)
    begun = place >= 0
    is_within[begun] = reached[place[begun]] >= instants[begun]
    return is_within
