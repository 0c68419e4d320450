"""Calls of one job to the NameNode of its checkpoint storage, by its newest ``_metadata``, and what
would make them fewer.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from ingest.flink_rest.versions import release
from ingest.messages import message
from spark_jobs.filesystem_calls.calls import Calls, calls_to_delete, calls_to_write, ways_to_write
from spark_jobs.filesystem_calls.checkpoint_files import NOT_IN_FILE, CheckpointFiles
from spark_jobs.filesystem_calls.inlining import (
    Inlined,
    inlined,
    inlined_at,
    knee,
    observed_threshold,
)
from webapp.checkpoints.models import CheckpointFact
from webapp.lib.quantities import bytes_text
from webapp.storage.fewer_files import most_if_merged
from webapp.storage.file_settings import FileSettings
from webapp.storage.newest_metadata import ReadMetadata

RECENT = 20
"""Completed checkpoints, by which it is judged how often the job takes one and how long each
lasts.
"""


@dataclass(frozen=True)
class Pace:
    """``every_ms``: between two completed checkpoints, ``duration_ms``: of one; medians, None where
    unknown.
    """

    every_ms: float | None = None
    duration_ms: float | None = None


@dataclass(frozen=True)
class JobCalls:
    """Of one checkpoint. ``least`` and ``most`` are equal unless it is not known which shared files
    it uploaded; ``written_total``: of most the calls until it has completed. ``files_taken_over``:
    shared files of earlier ones. ``inline``: states within the ``_metadata``.

    ``merged_to``: files at most if Flink merged them, None where it cannot, or does. ``curve``: by
    inline threshold, ascending, ``knee`` the point of it where heap buys most, ``at_now`` that of
    the present; ``retained``: checkpoints whose inline state is on the heap.
    """

    metadata_path: str
    checkpoint_id: int | None
    modified: datetime | None
    least: Calls
    most: Calls
    written_total: int
    files_least: int
    files_most: int
    file_bytes: int
    files_taken_over: int
    merged_files: int
    inline: int
    inline_bytes: int
    metadata_bytes: int
    pace: Pace
    merged_to: int | None
    curve: Sequence[Inlined]
    at_now: Inlined
    knee: Inlined | None
    threshold_key: str
    retained: int
    unknown: Sequence[str]

    @property
    def per_s(self) -> float | None:
        """Over time."""
        return self.most.total * 1000 / self.pace.every_ms if self.pace.every_ms else None

    @property
    def burst_per_s(self) -> float | None:
        """While the checkpoint is written: what is deleted goes after it has completed."""
        return self.written_total * 1000 / self.pace.duration_ms if self.pace.duration_ms else None


def pace_of(cluster: str, job_id: str) -> Pace:
    completed = CheckpointFact.objects.filter(cluster=cluster, job_id=job_id, outcome="completed")
    in_order = completed.exclude(is_savepoint=True).order_by("-trigger_time", "-id")
    newest = list(in_order.values_list("trigger_time", "end_to_end_ms")[:RECENT])
    apart = [
        (later - earlier).total_seconds() * 1000 for (later, _), (earlier, _) in pairwise(newest)
    ]
    lasted = [duration for _, duration in newest if duration]
    return Pace(
        statistics.median(apart) if apart else None, statistics.median(lasted) if lasted else None
    )


def job_calls(
    read: ReadMetadata,
    files: CheckpointFiles,
    pace: Pace,
    version: str | None,
    settings: FileSettings,
) -> JobCalls:
    least, most = files.written_file_bytes(unknown=False), files.written_file_bytes(unknown=True)
    plainly, safely = ways_to_write(release(version))
    written = calls_to_write(most, files.metadata_bytes, safely=safely)
    in_file = files.file_of != NOT_IN_FILE
    unknown = []
    if plainly != safely:
        unknown.append(
            message(
                "Whether this version of Flink flushes files and renames the _metadata is not "
                "known: 1.12 does not, 1.20 and 2.3 do."
            )
        )
    if len(least) < len(most):
        unknown.append(
            message(
                "Which of {files:count} shared files this checkpoint uploaded is not known (Flink "
                "reports it since 1.15): counted as if it had uploaded all of them.",
                files=len(most) - len(least),
            )
        )
    if pace.every_ms is None:
        unknown.append(
            message("How often the job takes checkpoints is not known: fewer than two were seen.")
        )
    threshold = settings.threshold_bytes
    observed = observed_threshold(files)
    if observed and not observed[0] <= threshold < observed[1]:
        threshold = observed[0]
        unknown.append(
            message(
                "The inline threshold of this job is not the configured one: {inline:name} are "
                "inline, {beside:name} are not.",
                inline=bytes_text(observed[0]),
                beside=bytes_text(observed[1]),
            )
        )
    curve = inlined(files, settings.retained)
    return JobCalls(
        read.path,
        read.checkpoint_id,
        read.modified,
        calls_to_write(least, files.metadata_bytes, safely=plainly)
        + calls_to_delete(len(least), files.deleted_again),
        written + calls_to_delete(len(most), files.deleted_again),
        written.total,
        len(least),
        len(most),
        int(most.sum()),
        files.files - len(most),
        len(set(files.file_of[in_file & files.merged].tolist())),
        int((~in_file).sum()),
        files.inline_bytes,
        files.metadata_bytes,
        pace,
        most_if_merged(files, settings),
        curve,
        inlined_at(files, settings.retained, threshold),
        knee(curve),
        settings.threshold_key,
        settings.retained,
        unknown,
    )
