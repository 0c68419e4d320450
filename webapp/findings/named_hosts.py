from collections.abc import Iterable

from spark_jobs.diagnosis.finding_hosts import hosts_of
from webapp.findings.models import Finding, FindingHost

ROWS_AT_ONCE = 500


def add_hosts(rows: Iterable[Finding]) -> None:
    """Earlier hosts stay. Call it in a transaction."""
    hosts = [
        FindingHost(finding=row, cluster=row.cluster, host=host)
        for row in rows
        for host in hosts_of(row.data, row.related)
    ]
    if hosts:
        FindingHost.objects.bulk_create(hosts, ignore_conflicts=True, batch_size=ROWS_AT_ONCE)
