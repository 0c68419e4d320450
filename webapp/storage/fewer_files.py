"""How few files a checkpoint of a job would write: merged, or with small states inline.

By its newest ``_metadata``.
"""

import logging
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.filesystem_calls.checkpoint_files import CheckpointFiles
from spark_jobs.filesystem_calls.inlining import inlined, knee
from spark_jobs.filesystem_calls.merging import most_merged_files
from webapp.fleet.models import JobCurrent
from webapp.storage.file_settings import FileSettings, file_settings
from webapp.storage.newest_metadata import newest_metadata

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FewerFiles:
    """``merged``: at most, None where its version cannot or does.

    ``inlined``: at a threshold of ``inline_bytes``, that of the knee.
    """

    merged: int | None = None
    inlined: int | None = None
    inline_bytes: int | None = None


def fewer_files(job: JobCurrent, now: datetime) -> FewerFiles:
    try:
        read = newest_metadata(job.cluster, job.job_id, now)
    except Exception:  # The lake may be any storage, with any error.
        log.exception(
            "References of %s on %s could not be read from the lake", job.job_id, job.cluster
        )
        return FewerFiles()
    if read is None or read.files is None:
        return FewerFiles()
    files, settings = read.files, file_settings(job.flink_version, job.configuration)
    best, most = knee(inlined(files, settings.retained)), most_if_merged(files, settings)
    return FewerFiles(most, best.files if best else None, best.threshold_bytes if best else None)


def most_if_merged(files: CheckpointFiles, settings: FileSettings) -> int | None:
    """None where its version cannot merge files, or does already."""
    if not settings.can_merge or files.merged.any():
        return None
    return most_merged_files(files, settings.threads, settings.largest_file_bytes)
