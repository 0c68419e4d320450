"""What the newest audits say of one job's storage, for its page."""

from webapp.storage.models import JobStorage
from webapp.storage.newest_audits import latest_audits

MOST_ROOTS = 5


def of_job(cluster: str, job_id: str) -> list[JobStorage]:
    """One row a root, largest first; empty where no audit met the job."""
    rows = JobStorage.objects.filter(cluster=cluster, job_id=job_id, audit__in=latest_audits()).select_related("audit")
    return list(rows.order_by("-bytes", "-id")[:MOST_ROOTS])
