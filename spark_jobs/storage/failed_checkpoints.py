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
    """``failed``: ``FAILED`` of each directory, by its number. ``lost``: reasons to
    distinguish. Arguments: ``at`` is the directory number of each file, ``number`` the checkpoint
    id in its path, ``rows`` the files to look at.
    """

    def __init__(self, failed: pa.Array, lost: tuple[str, ...]) -> None:
        ends = pc.list_flatten(failed)
        lengths = np.asarray(pc.fill_null(pc.list_value_length(failed), 0))
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
        """Whether a failed checkpoint of the file's number was under way at ``modified``, or was
        triggered at most ``before_s`` later.
        """
        is_failed = np.zeros(len(at), np.bool_)
        for files, checkpoints in self._by_directory(at, rows):
            since, until = self._since[checkpoints], self._until[checkpoints]
            for file in files:
                was_under_way = (
                    known(since)
                    & (modified[file] >= since - before_s * US_PER_S)
                    & (modified[file] <= until)
                )
                is_failed[file] = known(number[file]) and bool(
                    np.any(was_under_way & (self._number[checkpoints] == number[file]))
                )
        return is_failed

    def of_number_or_time(
        self, at: Numbers, number: Numbers, modified: Numbers, rows: Numbers
    ) -> tuple[Flags, Flags]:
        """Whether files are of failed checkpoints, and of ``lost`` ones: by number, else by time."""
        is_failed, is_lost = np.zeros(len(at), np.bool_), np.zeros(len(at), np.bool_)
        for files, checkpoints in self._by_directory(at, rows):
            lost = self._lost[checkpoints]
            numbered, unnumbered = files[known(number[files])], files[~known(number[files])]
            for flags, is_chosen in ((is_failed, np.ones(len(lost), np.bool_)), (is_lost, lost)):
                flags[numbered] = np.isin(number[numbered], self._number[checkpoints][is_chosen])
                has_time = is_chosen & known(self._since[checkpoints])
                flags[unnumbered] = _within(
                    modified[unnumbered],
                    self._since[checkpoints][has_time],
                    self._until[checkpoints][has_time],
                )
        return is_failed, is_lost

    def _by_directory(self, at: Numbers, rows: Numbers) -> Iterator[tuple[Numbers, slice]]:
        """Files of each directory, with the range of its failed checkpoints."""
        rows = rows[self._begin[at[rows]] < self._begin[at[rows] + 1]]
        order = rows[np.argsort(at[rows], kind="stable")]
        directories, first = np.unique(at[order], return_index=True)
        if len(directories):
            for directory, files in zip(directories, np.split(order, first[1:]), strict=True):
                yield files, slice(self._begin[directory], self._begin[directory + 1])


def _within(instants: Numbers, since: Numbers, until: Numbers) -> Flags:
    order = np.argsort(since, kind="stable")
    latest_end = np.maximum.accumulate(until[order]) if len(order) else until
    last_begun = np.searchsorted(since[order], instants, side="right") - 1
    is_within = np.zeros(len(instants), np.bool_)
    has_begun = last_begun >= 0
    is_within[has_begun] = latest_end[last_begun[has_begun]] >= instants[has_begun]
    return is_within
