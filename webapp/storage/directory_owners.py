"""Finds the job that writes to a directory, for pages that know only the path."""

from ingest.flink_ids import is_given
from ingest.metadata.owners import job_id_of, owner_directory
from webapp.fleet.models import JobCurrent
from webapp.storage.models import JobStorage
from webapp.storage.newest_audits import latest_audits


def owner_of(directory: str) -> JobCurrent | None:
    """The job that writes to ``directory`` by the newest audit. If that knows no cluster: the only
    job with the id in the path, unless it writes elsewhere or a user chose its id, which other jobs
    may have too. Else None.
    """
    job_id = job_id_of(directory)
    if job_id is None:
        return None
    audited = JobStorage.objects.filter(audit__in=latest_audits(), directory=directory)
    cluster = audited.exclude(cluster="").values_list("cluster", flat=True).first()
    jobs = JobCurrent.objects.filter(job_id=job_id)
    owners = list(jobs.filter(cluster=cluster) if cluster else jobs[:2])
    if len(owners) != 1:
        return None
    last_directory = owner_directory((owners[0].last_completed_path or "").rstrip("/"))
    is_unique_id = not last_directory and not is_given(job_id)
    return owners[0] if cluster or last_directory == directory or is_unique_id else None
