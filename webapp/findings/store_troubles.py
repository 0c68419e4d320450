"""Faults that several jobs of any clusters meet at one bucket at one time. A cloud's bucket has a
global name. Other stores also use the S3 protocol: then the cluster's configured endpoint is part
of the name, or the cluster if the configuration is unknown.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import CharField, Q
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from spark_jobs.diagnosis.incidents import LEAST_NEAR
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
MOST_HOST = 255
"""Of a name of DNS."""
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
"""Those of ``SETTINGS`` that are set."""


@dataclass(frozen=True)
class StoreTrouble:
    """``resource``: the bucket or the refused prefix, with what distinguishes it from others of its
    name. ``findings`` are near each other in time, oldest first. ``settings``: by job, None if its
    configuration is not known.
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

    def count(self, *came_of: str) -> int:
        """The count in the newest ten minutes of each finding."""
        counts = [finding.data.get("counts", {}) for finding in self.findings]
        return sum(int(of_one.get(name, 0)) for of_one in counts for name in came_of)


def store_troubles(since: datetime | None = None) -> list[StoreTrouble]:
    """Troubles of findings that are open or were seen after ``since``; those of most jobs first."""
    wanted = Q(state="open") | (Q(last_seen__gte=since) if since else Q(pk__in=[]))
    newest = Finding.objects.filter(wanted, rule=RULE).order_by("-last_seen", "-id")
    return troubles_of(newest.only(*READ)[:MOST_FINDINGS])


def troubles_of(findings: Iterable[Finding]) -> list[StoreTrouble]:
    known = [
        finding
        for finding in findings
        if isinstance(finding.data, dict)
        and finding.data.get("store")
        and finding.data.get("fault")
    ]
    settings = _settings(known)
    alike: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for row in known:
        resource = _resource(row, settings.get((row.cluster, row.job_id)))
        alike[resource, str(row.data["fault"])].append(row)
    troubles = [
        StoreTrouble(
            *key,
            tuple(near),
            {
                (finding.cluster, finding.job_id): settings.get((finding.cluster, finding.job_id))
                for finding in near
            },
        )
        for key, of_key in alike.items()
        for near in _near_in_time(of_key)
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
    lasts = max(LEAST_NEAR, hold_of(RULE))
    groups: list[list[Finding]] = []
    reaches: datetime | None = None
    for finding in sorted(findings, key=lambda member: (member.first_seen, member.pk)):
        if reaches is None or finding.first_seen > reaches + lasts:
            groups.append([])
            reaches = finding.last_seen
        groups[-1].append(finding)
        reaches = max(reaches, finding.last_seen)
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
    return endpoint.rpartition("@")[2].rpartition("://")[2].partition("/")[0].lower()[:MOST_HOST]


def first_set(settings: Settings, names: Iterable[str]) -> str | None:
    return next((value for name in names if (value := settings.get(name))), None)


def _settings(findings: Iterable[Finding]) -> dict[Job, Settings | None]:
    """One query per 500 jobs of any clusters; only the needed settings."""
    wanted = {(finding.cluster, finding.job_id) for finding in findings}
    texts = [Cast(KT(f"configuration__{name}"), CharField()) for name in SETTINGS]
    settings: dict[Job, Settings | None] = {}
    for some in chunks(sorted(wanted), JOBS_AT_ONCE):
        rows = JobCurrent.objects.filter(
            cluster__in={cluster for cluster, _job_id in some},
            job_id__in={job_id for _cluster, job_id in some},
            configuration__isnull=False,
        )
        for cluster, job_id, *values in rows.values_list("cluster", "job_id", *texts):
            if (cluster, job_id) in wanted:
                settings[cluster, job_id] = dict(zip(SETTINGS, values, strict=True))
    return settings
