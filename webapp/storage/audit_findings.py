"""Opens and renews findings of the storage rules; the first audit without a finding closes it. An
audit is ignored for a root that a newer audit has judged.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.conf import settings

from ingest.sources import MetadataRoot, MetadataSource
from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.findings import Limits
from spark_jobs.diagnosis.rule import Sample
from spark_jobs.diagnosis.storage_samples import StorageJobSample, StorageRootSample
from spark_jobs.fold.rule_evaluation import Settings
from webapp.findings.models import Finding
from webapp.findings.overrides import as_plain
from webapp.findings.settling import Identity, by_identity, identified, settle
from webapp.lib.storage_uris import spellings
from webapp.storage.models import RootFigures, StorageAudit, StorageRoot
from webapp.storage.newest_audits import loaded_figures
from webapp.storage.samples import job_samples, root_samples
from webapp.work.lease import WriteGuard


def evidence_source() -> MetadataSource:
    """Settings for reading ``_metadata`` during collection. A cluster reads only from roots that
    are registered for it or for no cluster.
    """
    roots = StorageRoot.objects.order_by("uri").prefetch_related("clusters")
    return MetadataSource(
        enabled=settings.WEIR.metadata_per_cycle > 0,
        roots=tuple(
            MetadataRoot(
                root.uri,
                root.read_at,
                tuple(sorted(cluster.name for cluster in root.clusters.all())),
            )
            for root in roots
        ),
        aliases=spellings().aliases,
        files_per_cycle=settings.WEIR.metadata_per_cycle,
        file_bytes=settings.WEIR.metadata_max_bytes,
    )


SMALL_FILES = "storage.small_files.files"


def judge(audit: StorageAudit, guard: WriteGuard, say: Callable[[str], None]) -> None:
    """Evaluates the storage rules, once the audit's rows are in the database."""
    roots = [
        row
        for row in RootFigures.objects.filter(audit=audit).order_by("root")
        if not _is_outdated(row)
    ]
    open_findings = by_identity(_open_findings({row.root for row in roots}))
    new: dict[Identity, dict[str, Any]] = {}
    for sample, limits in _samples_with_limits(audit, roots):
        findings = registry.diagnose(sample, limits).findings
        found = identified(findings, *_job_of(sample), job_name=_job_name_of(sample))
        new |= {identity: plain for identity, plain in found.items() if identity not in new}
    closed = settle(new, open_findings, guard, audit.as_of)
    if new or closed:
        say(f"findings on storage: {len(new)} stand, {closed} closed")


def _is_outdated(row: RootFigures) -> bool:
    return loaded_figures().filter(root=row.root, as_of__gt=row.as_of).exists()


def _open_findings(roots: set[str]) -> list[Finding]:
    rules = [*registry.rules_for(StorageRootSample), *registry.rules_for(StorageJobSample)]
    rows = Finding.objects.open().filter(rule__in=rules).order_by("id")
    return [finding for finding in rows if finding.data.get("root") in roots]


def _samples_with_limits(
    audit: StorageAudit, roots: Iterable[RootFigures]
) -> Iterator[tuple[Sample, Limits]]:
    roots, overrides = list(roots), as_plain()
    rule_settings = Settings(overrides)
    fleet_limits = rule_settings.limits("", "")
    lowest_limit = min(
        [
            fleet_limits[SMALL_FILES],
            *(override["value"] for override in overrides if override["key"] == SMALL_FILES),
        ]
    )
    for root in root_samples(audit, roots):
        yield root, fleet_limits
    for job in job_samples(audit, roots, lowest_limit):
        yield job, rule_settings.limits(job.cluster, job.job_id, job.job_name)


def _job_of(sample: Sample) -> tuple[str, str]:
    if isinstance(sample, StorageJobSample) and sample.cluster:
        return sample.cluster, sample.job_id
    return "", ""


def _job_name_of(sample: Sample) -> str | None:
    return sample.job_name if isinstance(sample, StorageJobSample) and sample.cluster else None
