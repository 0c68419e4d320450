"""Groups findings on faults of object stores: one bucket at one time, in any job and cluster. A
bucket of a cloud has a global name. For other stores with the S3 protocol the configured endpoint
is part of the name, or the cluster if the configuration is unknown.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import CharField, Q
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from spark_jobs.diagnosis.incidents import MIN_REACH
from webapp.findings.folding import hold_of
from webapp.findings.models import Finding
from webapp.fleet.models import JobCurrent
from webapp.lib.chunks import chunks

RULE = "store.faults"
ENDPOINTS = ("s3.endpoint", "fs.s3a.endpoint")
ENTROPY = ("s3.entropy.key",)
CONNECTIONS = ("s3.connection.max", "fs.s3a.connection.maximum", "s3.connection.maximum")
UPLOAD_THREADS = ("state.backend.rocksdb.checkpoint.transfer.thread.num",)
SETTINGS = (*ENDPOINTS, *ENTROPY, *CONNECTIONS, *UPLOAD_THREADS)
MOST_FINDINGS = 5_000
JOBS_AT_ONCE = 500
LONGEST_HOST = 255
"""Limit of DNS."""
READ = (
    "cluster",
    "job_id",
    "first_attempt_id",
    "job_name",
    "rule",
    "state",
    "severity_rank",
    "title",
    "data",
    "first_seen",
    "last_seen",
)

Job = tuple[str, str]
Settings = Mapping[str, str | None]
"""Option of ``SETTINGS`` → value, None if it is not set."""


@dataclass(frozen=True)
class StoreTrouble:
    """``resource``: the bucket or the refused prefix, with endpoint or cluster if its name is not
    global. ``findings`` are near each other in time, oldest first. ``settings``: by job, None if
    unknown.
    """

    resource: str
    fault: str
    findings: tuple[Finding, ...]
    settings: Mapping[Job, Settings | None]

    @property
    def store(self) -> str:
        return str(self.findings[0].data.get("store"))

    @property
    def jobs(self) -> frozenset[Job]:
        return frozenset((finding.cluster, finding.first_attempt_id) for finding in self.findings)

    @property
    def clusters(self) -> frozenset[str]:
        return frozenset(finding.cluster for finding in self.findings)

    @property
    def first_seen(self) -> datetime:
        return min(finding.first_seen for finding in self.findings)

    @property
    def last_seen(self) -> datetime:
        return max(finding.last_seen for finding in self.findings)

    @property
    def is_open(self) -> bool:
        return any(finding.state == "open" for finding in self.findings)

    @property
    def prefixes(self) -> list[str]:
        return sorted(
            {str(name) for finding in self.findings for name in finding.data.get("prefixes", ())}
        )

    def count(self, *operations: str) -> int:
        """Faults of these operations in the newest ten minutes of each finding."""
        counts_of_findings = [finding.data.get("counts", {}) for finding in self.findings]
        return sum(int(counts.get(name, 0)) for counts in counts_of_findings for name in operations)


def store_troubles(since: datetime | None = None) -> list[StoreTrouble]:
    """Troubles that are open or were seen after ``since``: open ones first, then of most jobs."""
    condition = Q(state="open") | (Q(last_seen__gte=since) if since else Q(pk__in=[]))
    newest = Finding.objects.filter(condition, rule=RULE).order_by("-last_seen", "-id")
    return _group(newest.only(*READ)[:MOST_FINDINGS])


def _group(findings: Iterable[Finding]) -> list[StoreTrouble]:
    rows = [
        finding
        for finding in findings
        if isinstance(finding.data, dict)
        and finding.data.get("store")
        and finding.data.get("fault")
    ]
    settings = _settings(rows)
    by_fault: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for row in rows:
        resource = _resource(row, settings.get((row.cluster, row.job_id)))
        by_fault[resource, str(row.data["fault"])].append(row)
    troubles = [
        StoreTrouble(
            *key,
            tuple(group),
            {
                (finding.cluster, finding.job_id): settings.get((finding.cluster, finding.job_id))
                for finding in group
            },
        )
        for key, same_fault in by_fault.items()
        for group in _near_in_time(same_fault)
    ]
    return sorted(
        troubles,
        key=lambda trouble: (
            not trouble.is_open,
            -len(trouble.jobs),
            trouble.first_seen,
            trouble.resource,
        ),
    )


def _near_in_time(findings: Sequence[Finding]) -> list[list[Finding]]:
    longest_gap = max(MIN_REACH, hold_of(RULE))
    groups: list[list[Finding]] = []
    group_end: datetime | None = None
    for finding in sorted(findings, key=lambda member: (member.first_seen, member.pk)):
        if group_end is None or finding.first_seen > group_end + longest_gap:
            groups.append([])
            group_end = finding.last_seen
        groups[-1].append(finding)
        group_end = max(group_end, finding.last_seen)
    return groups


def _resource(finding: Finding, settings: Settings | None) -> str:
    store = str(finding.data["store"])
    if not store.startswith("s3://"):
        return store
    if settings is None:
        return f"{store} ({finding.cluster})"
    host = _host_of(first_set(settings, ENDPOINTS) or "")
    return f"{store} ({host})" if host and ".amazonaws.com" not in host else store


def _host_of(endpoint: str) -> str:
    return endpoint.rpartition("@")[2].rpartition("://")[2].partition("/")[0].lower()[:LONGEST_HOST]


def first_set(settings: Settings, names: Iterable[str]) -> str | None:
    return next((value for name in names if (value := settings.get(name))), None)


def _settings(findings: Iterable[Finding]) -> dict[Job, Settings | None]:
    jobs = {(finding.cluster, finding.job_id) for finding in findings}
    texts = [Cast(KT(f"configuration__{name}"), CharField()) for name in SETTINGS]
    settings: dict[Job, Settings | None] = {}
    for part in chunks(sorted(jobs), JOBS_AT_ONCE):
        rows = JobCurrent.objects.filter(
            cluster__in={cluster for cluster, _job_id in part},
            job_id__in={job_id for _cluster, job_id in part},
            configuration__isnull=False,
        )
        for cluster, job_id, *values in rows.values_list("cluster", "job_id", *texts):
            if (cluster, job_id) in jobs:
                settings[cluster, job_id] = dict(zip(SETTINGS, values, strict=True))
    return settings
