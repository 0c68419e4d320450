"""The calls of a job for whoever asks."""

import logging
from dataclasses import dataclass
from datetime import datetime

from webapp.filesystem_calls.job_calls import JobCalls, job_calls, pace_of
from webapp.filesystem_calls.newest_metadata import MOST_HANDLES, newest_metadata
from webapp.fleet.models import JobCurrent

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Looked:
    """``calls`` None where they are not known; ``why`` says then what is missing, and what to do."""

    calls: JobCalls | None
    why: str = ""


def look_up_calls(job: JobCurrent, now: datetime) -> Looked:
    """By the newest ``_metadata`` that was read, be the job over since."""
    try:
        read = newest_metadata(job.cluster, job.job_id, now)
    except Exception:  # The lake may be any storage, with any error.
        log.exception("References of %s on %s could not be read from the lake", job.job_id, job.cluster)
        return Looked(None, "The lake could not be read; the server's log has the reason.")
    if read is None:
        return Looked(None, "No _metadata of this job was read in the last 30 days: register the root of its checkpoints and audit it.")
    if read.files is None:
        return Looked(None, f"Its _metadata has {read.handles:,} handles; a page reads {MOST_HANDLES:,} at most.")
    return Looked(job_calls(read, read.files, pace_of(job.cluster, job.job_id), job.flink_version))
