from collections.abc import Iterable

from spark_jobs.diagnosis.finding_hosts import hosts_of
from webapp.findings.models import Finding, FindingHost

ROWS_AT_ONCE = 500


def note(rows: Iterable[Finding]) -> None:
    """Write the hosts of new findings; earlier ones stay. Call it in a transaction."""
    named = [
        FindingHost(finding=row, cluster=row.cluster, host=host)
        for row in rows
        for host in hosts_of(row.data, row.related)
    ]
    if named:
        FindingHost.objects.bulk_create(named, ignore_conflicts=True, batch_size=ROWS_AT_ONCE)
