"""Jobs that took checkpoints in the newest minutes: when, for how long, into which file system, and how many files each writes."""

import re
import statistics
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from urllib.parse import urlsplit

from spark_jobs.filesystem_calls.calls import calls_of_files
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.storage.models import CheckpointStorage
from webapp.storage.newest_audits import latest_audits
from webapp.storage.written_files import files_by_job

WINDOW = timedelta(minutes=10)
MOST_FACTS, MOST_JOBS = 20_000, 1_000
_CHECKPOINT = re.compile(r"/(?:[0-9a-f]{32}/)?chk-(\d+)(?:/_metadata)?/?$")


@dataclass(frozen=True)
class Taken:
    trigger_time: datetime
    duration_s: float


@dataclass(frozen=True)
class FleetJob:
    """``file_system``: scheme and authority of its checkpoints, "" where unknown; ``directory`` what it is to be set to. ``calls``: of one
    checkpoint, None where no audit counted its files. ``period_s``: None where it took only one.
    """

    cluster: str
    job_id: str
    name: str
    flink_version: str | None
    file_system: str
    directory: str
    files: float | None
    calls: float | None
    taken: tuple[Taken, ...]
    period_s: float | None

    @property
    def per_s(self) -> float | None:
        return self.calls / self.period_s if self.calls is not None and self.period_s else None


def fleet_jobs(now: datetime) -> tuple[datetime, list[FleetJob]]:
    """The end of the minutes looked at, which is the newest trigger up to ``now``, and the jobs with most checkpoints in them."""
    taken = CheckpointFact.objects.exclude(is_savepoint=True).filter(trigger_time__lte=now)
    newest = taken.order_by("-trigger_time").values_list("trigger_time", flat=True).first()
    if newest is None:
        return now, []
    names = ("cluster", "job_id", "trigger_time", "end_to_end_ms", "external_path")
    facts: dict[tuple[str, str], list[tuple[datetime, int | None, str]]] = {}
    rows = taken.filter(trigger_time__gt=newest - WINDOW).order_by("-trigger_time").values_list(*names)[:MOST_FACTS]
    for cluster, job_id, trigger, lasted_ms, path in rows:
        facts.setdefault((cluster, job_id), []).append((trigger, lasted_ms, path or ""))
    chosen = sorted(facts, key=lambda key: (-len(facts[key]), key))[:MOST_JOBS]
    job_ids = [job_id for _cluster, job_id in chosen]
    current = JobCurrent.objects.filter(job_id__in=job_ids).only("cluster", "job_id", "name", "flink_version")
    known = {(job.cluster, job.job_id): job for job in current}
    files = files_by_job(CheckpointStorage.objects.filter(audit__in=latest_audits(), job_id__in=job_ids))
    return newest, [_job(key, facts[key], known.get(key), files.get(key[1])) for key in chosen]


def _job(key: tuple[str, str], facts: list[tuple[datetime, int | None, str]], job: JobCurrent | None, files: float | None) -> FleetJob:
    lasted = [duration for _trigger, duration, _path in facts if duration]
    usual_ms = statistics.median(lasted) if lasted else 1_000
    taken = tuple(Taken(trigger, (duration or usual_ms) / 1000) for trigger, duration, _path in sorted(facts))
    apart = [(later.trigger_time - earlier.trigger_time).total_seconds() for earlier, later in pairwise(taken)]
    path = next((path for _trigger, _duration, path in facts if _CHECKPOINT.search(path)), "")
    return FleetJob(
        *key,
        (job and job.name) or key[1],
        job.flink_version if job else None,
        file_system_of(path),
        _CHECKPOINT.sub("", path),
        files,
        None if files is None else calls_of_files(files),
        taken,
        statistics.median(apart) if apart else None,
    )


def file_system_of(path: str) -> str:
    parts = urlsplit(path) if path else None
    return f"{parts.scheme}://{parts.netloc}" if parts and parts.scheme else ""
