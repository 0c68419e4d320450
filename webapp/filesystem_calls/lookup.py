"""The calls of a job for whoever asks: worked out and kept for a moment, since a ``_metadata`` may have many handles."""

import logging
from dataclasses import dataclass
from datetime import datetime

from django.core.cache import cache
from django.utils.translation import gettext

from spark_jobs.filesystem_calls.calls import Calls
from spark_jobs.filesystem_calls.inlining import Inlined
from webapp.filesystem_calls.job_audit import JobAudit, KindSeen, job_audit
from webapp.filesystem_calls.job_calls import JobCalls, Pace, job_calls, pace_of
from webapp.filesystem_calls.what_ifs import Floor, WhatIf, WhatIfs, what_ifs
from webapp.fleet.job_plan import plan_of
from webapp.fleet.models import JobCurrent
from webapp.fleet.task_samples import LARGEST_READ, read_samples
from webapp.lib.recent_answers import KEPT_S, answer_key, end_of_step
from webapp.storage.file_settings import file_settings
from webapp.storage.newest_metadata import MOST_HANDLES, newest_metadata
from webapp.storage.replication_factor import NONE, ReplicationFactor, factor_of_path

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Looked:
    """None where the files are not known; ``why`` says then what is missing, and what to do. ``observed``: None where no audit log of a
    NameNode has the job's calls. ``replicated``: how often the root of its checkpoints stores each byte.
    """

    calls: JobCalls | None = None
    what_ifs: WhatIfs | None = None
    why: str = ""
    observed: JobAudit | None = None
    replicated: ReplicationFactor = NONE


_MADE_OF = (Looked, ReplicationFactor, JobAudit, KindSeen, JobCalls, Calls, Pace, WhatIfs, WhatIf, Inlined, Floor)


def look_up_calls(job: JobCurrent, now: datetime) -> Looked:
    """By the newest ``_metadata`` that was read, be the job over since."""
    key = answer_key("filesystem-calls", _MADE_OF, job.cluster, job.job_id, job.as_of, end_of_step(now))
    kept = cache.get(key)
    if isinstance(kept, Looked):
        return kept
    found = _look_up(job, now)
    if found.calls is not None:
        cache.set(key, found, KEPT_S)
    return found


def _look_up(job: JobCurrent, now: datetime) -> Looked:
    try:
        read = newest_metadata(job.cluster, job.job_id, now)
    except Exception:  # The lake may be any storage, with any error.
        log.exception("References of %s on %s could not be read from the lake", job.job_id, job.cluster)
        return Looked(why=gettext("The lake could not be read; the server's log has the reason."))
    if read is None:
        return Looked(
            why=gettext("No _metadata of this job was read in the last 30 days: register the root of its checkpoints and audit it.")
        )
    if read.files is None:
        return Looked(
            why=gettext("Its _metadata has %(handles)s handles; a page reads %(most_handles)s at most.")
            % {"handles": f"{read.handles:,}", "most_handles": f"{MOST_HANDLES:,}"}
        )
    calls = job_calls(read, read.files, pace_of(job.cluster, job.job_id), job.flink_version)
    settings = file_settings(job.flink_version, job.configuration)
    min_pause_ms = (job.checkpoint_config or {}).get("min_pause_ms")
    others = what_ifs(calls, read.files, settings, _taskmanagers(job), min_pause_ms)
    return Looked(calls, others, observed=job_audit(job, calls.most), replicated=factor_of_path(calls.metadata_path))


def _taskmanagers(job: JobCurrent) -> int | None:
    """That it ran on when it was sampled last."""
    plan = plan_of(job)
    if plan is None or plan.tasks > LARGEST_READ:
        return None
    try:
        sampled = read_samples(job.cluster, job.job_id, plan.tasks, job.last_seen_at or job.as_of)
    except Exception:  # As above.
        log.exception("Samples of %s on %s could not be read from the lake", job.job_id, job.cluster)
        return None
    return len({name for vertex in sampled.vertices.values() for name in vertex.taskmanagers if name}) or None
