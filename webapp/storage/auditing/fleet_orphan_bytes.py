from django.db.models import Sum

from webapp.fleet.models import JobCurrent
from webapp.lib.chunks import chunks
from webapp.storage.models import JobStorage, StorageAudit
from webapp.storage.newest_audits import latest_audits
from webapp.work.lease import Lease

JOBS_AT_ONCE = 500


def copy_to_fleet(audit: StorageAudit, lease: Lease) -> int:
    """Copy orphan bytes of the audit's jobs to ``JobCurrent``: sums over the newest audits of all
    roots. Returns the number of changed rows.
    """
    audit_rows = (
        JobStorage.objects.filter(audit=audit)
        .exclude(cluster="")
        .exclude(job_id="")
        .order_by("job_id")
    )
    changed = 0
    for job_ids in chunks(
        list(audit_rows.values_list("job_id", flat=True).distinct()), JOBS_AT_ONCE
    ):
        newest_rows = JobStorage.objects.filter(
            audit__in=latest_audits(), job_id__in=job_ids
        ).values_list("cluster", "job_id")
        sums = newest_rows.annotate(orphan=Sum("orphan_bytes"), recent=Sum("recent_bytes"))
        # Without proven orphans, recent unreferenced files may still be orphans: unknown.
        orphans = {
            (cluster, job_id): None if recent and not orphan else orphan
            for cluster, job_id, orphan, recent in sums
        }
        with lease.writing():
            jobs = list(
                JobCurrent.objects.filter(job_id__in=job_ids).only(
                    "cluster", "job_id", "orphan_bytes"
                )
            )
            stale = [job for job in jobs if job.orphan_bytes != orphans.get(job.key)]
            for job in stale:
                job.orphan_bytes = orphans.get(job.key)
            changed += JobCurrent.objects.bulk_update(stale, ["orphan_bytes"]) if stale else 0
    return changed
