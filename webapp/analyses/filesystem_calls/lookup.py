"""The calls of a job: worked out and cached for a moment, since a ``_metadata`` may have many
handles.
"""

import logging
from dataclasses import dataclass
from datetime import datetime

from django.core.cache import cache

from ingest.messages import message
from spark_jobs.filesystem_calls.calls import Calls
from spark_jobs.filesystem_calls.inlining import Inlined
from webapp.analyses.filesystem_calls.job_calls import JobCalls, Pace, job_calls, pace_of
from webapp.fleet.models import JobCurrent
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step
from webapp.storage.file_settings import file_settings
from webapp.storage.newest_metadata import MOST_HANDLES, newest_metadata

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Looked:
    """None where the files are not known; ``why`` says then what is missing, and what to do."""

    calls: JobCalls | None = None
    why: str = ""


_MADE_OF = (Looked, JobCalls, Calls, Pace, Inlined)


def look_up_calls(job: JobCurrent, now: datetime) -> Looked:
    """By the newest ``_metadata`` that was read, be the job over since."""
    key = answer_key(
        "filesystem-calls", _MADE_OF, job.cluster, job.job_id, job.as_of, end_of_step(now)
    )
    cached = cache.get(key)
    if isinstance(cached, Looked):
        return cached
    calls = _look_up(job, now)
    if calls.calls is not None:
        cache.set(key, calls, KEPT_S)
    return calls


def _look_up(job: JobCurrent, now: datetime) -> Looked:
    try:
        read = newest_metadata(job.cluster, job.job_id, now)
    except Exception:  # The lake may be any storage, with any error.
        log.exception(
            "References of %s on %s could not be read from the lake", job.job_id, job.cluster
        )
        return Looked(why=message("The lake could not be read; the server's log has the reason."))
    if read is None:
        return Looked(
            why=message(
                "No _metadata of this job was read in the last 30 days: register the root of its "
                "checkpoints and audit it."
            )
        )
    if read.files is None:
        return Looked(
            why=message(
                "Its _metadata has {handles:count} handles; at most {most_handles:count} are read.",
                handles=read.handles,
                most_handles=MOST_HANDLES,
            )
        )
    settings = file_settings(job.flink_version, job.configuration)
    calls = job_calls(
        read, read.files, pace_of(job.cluster, job.job_id), job.flink_version, settings
    )
    return Looked(calls)
