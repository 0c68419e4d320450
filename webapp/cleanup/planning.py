"""Makes plans from audits: decides which roots may be cleaned, and where their files would wait."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone

from ingest.storage.instants import CLOCK_SKEW
from ingest.storage.plan_folder import PlanFolder
from ingest.storage.roots import local_path
from spark_jobs.audit_tables import STORAGE_FILE
from spark_jobs.storage_words import ALL_ROOTS, DEAD_JOB, NOT_CLEANABLE, TWO_NAMES, VOID_ATTESTATION
from webapp.cleanup import quarantine
from webapp.cleanup.choices import PlanState, Way
from webapp.cleanup.errors import PlanRefused
from webapp.cleanup.manifest import (
    PlanManifest,
    PlannedRoot,
    QuotedStatement,
    SearchedAudit,
    WithheldRoot,
)
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.plan_builder import PlanRequest, Say, build
from webapp.cleanup.ways import way_in_place
from webapp.lib.instants import iso_text
from webapp.storage.auditing import loading
from webapp.storage.models import (
    AuditDoubt,
    RootFigures,
    StorageAudit,
    StorageRoot,
    StorageStatement,
)
from webapp.storage.presentation import second_names
from webapp.work.lease import Lease
from webapp.work.run_files import file_uris

_RENAMING_SCHEMES = ("hdfs://", "viewfs://", "webhdfs://")


def request_plan(
    roots: Sequence[str], *, waste: bool, user: Any, name: str, at: datetime
) -> CleanupPlan:
    """``roots``: canonical URIs, or empty for all roots of the newest audit. Raises
    :class:`PlanRefused`.
    """
    audit = newest_audit(roots)
    folder = f"{settings.WEIR.plans_root.rstrip('/')}/{at:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    return CleanupPlan.objects.create(
        folder=folder,
        audit=audit,
        roots=list(roots) or list(audit.roots),
        waste=waste,
        created_at=at,
        created_by=user,
        created_name=name[:200],
        expires_at=at + timedelta(hours=settings.WEIR.plan_expires_h),
        grace_s=settings.WEIR.quarantine_h * 3600,
    )


def newest_audit(roots: Sequence[str]) -> StorageAudit:
    for audit in (
        StorageAudit.objects.loaded().filter(files_kept=True).order_by("-as_of", "-id")[:50]
    ):
        if set(roots) <= set(audit.roots):
            return audit
    which = f"of {', '.join(roots)} " if roots else ""
    raise PlanRefused(
        f"There is no audit {which}whose files are still known. Run manage.py audit_storage first."
    )


def make(plan: CleanupPlan, lease: Lease, say: Say) -> PlanManifest:
    """Writes the plan's files. Raises :class:`PlanRefused`."""
    audit = plan.audit
    if audit is None or not audit.files_kept or audit.as_of is None:
        raise PlanRefused(
            "The audit that the plan was to be made of is no longer kept. Make a new plan."
        )
    if audit.as_of > timezone.now() + CLOCK_SKEW:
        raise PlanRefused(
            f"The audit began at {audit.as_of:%Y-%m-%d %H:%M:%S} UTC, which is yet to come: it "
            "proves nothing. Audit again."
        )
    folder = PlanFolder(plan.folder)
    folder.remove()  # left by a killed process
    planned, withheld = sort_roots(audit, plan.roots)
    planned = [_with_way(root, plan) for root in planned]
    audit_manifest = loading.read_manifest(audit)
    say(f"planning from audit {audit.audit_id}, which began at {audit.as_of:%Y-%m-%d %H:%M:%S} UTC")
    name, manifest = build(
        PlanRequest(
            verdict_files=file_uris(audit_manifest, STORAGE_FILE.name),
            audit_id=audit.audit_id,
            audits=[_searched_audit(row) for row in (audit.previous, audit) if row is not None],
            as_of=audit.as_of,
            age_guard=timedelta(hours=audit.age_guard_h),
            searched_roots=list(audit.roots),
            roots=planned,
            withheld=withheld,
            created_at=plan.created_at,
            created_by=plan.created_name,
            lifetime=plan.expires_at - plan.created_at,
            grace=timedelta(seconds=plan.grace_s),
            waste=plan.waste,
            also_scanned=scanned_places(),
            statements=quoted_statements(audit),
        ),
        folder,
        say,
    )
    _save_summary(plan, name, manifest, lease)
    return manifest


def quoted_statements(audit: StorageAudit) -> list[QuotedStatement]:
    """Statements on dead jobs that count now and when the audit was made. Raises
    :class:`PlanRefused` if a statement that the audit used has ended.
    """
    at_audit = StorageStatement.objects.filter(kind=DEAD_JOB, stated_at__lte=audit.created_at)
    contradicted = set(
        AuditDoubt.objects.filter(audit=audit, reason=VOID_ATTESTATION).values_list(
            "subject", flat=True
        )
    )
    for statement in at_audit.filter(ended_at__gt=audit.created_at):
        if statement.title in contradicted:
            continue
        raise PlanRefused(
            f"The attestation of {statement.stated_name} for {statement.title} does not count any "
            f"more, and the audit rests on it ({statement.ended_why}). Audit again."
        )
    return [
        QuotedStatement(row.place, row.stated_name, iso_text(row.stated_at), row.reason)
        for row in at_audit.valid()
    ]


def scanned_places() -> list[str]:
    rows = StorageRoot.objects.all()
    return [place for row in rows for place in (row.uri, row.place.reading)]


def sort_roots(
    audit: StorageAudit, uris: Sequence[str]
) -> tuple[list[PlannedRoot], list[WithheldRoot]]:
    """Roots that may be cleaned, and all others with reasons."""
    figures_by_root = {row.root: row for row in RootFigures.objects.filter(audit=audit)}
    rows = {row.uri: row for row in StorageRoot.objects.filter(uri__in=uris)}
    in_doubt = AuditDoubt.objects.filter(audit=audit, reach=ALL_ROOTS).exists()
    planned, withheld = [], []
    for uri in uris:
        figures = figures_by_root.get(uri)
        reasons = _reasons(figures, rows.get(uri), audit.withheld.get(uri, ""), in_doubt)
        if figures is not None and TWO_NAMES in figures.not_cleanable:
            reasons += second_names(audit, uri)
        if reasons:
            withheld.append(WithheldRoot(uri, tuple(reasons)))
        else:
            planned.append(_planned_root(rows[uri]))
    return planned, withheld


def _reasons(
    figures: RootFigures | None, row: StorageRoot | None, withheld: str, in_doubt: bool
) -> list[str]:
    """Sentences that say why the root may not be cleaned. ``in_doubt``: a doubt of the audit
    reaches all roots.
    """
    if figures is None:
        return ["The audit says nothing of this root."]
    if row is None:
        return [
            "This root is not registered, so nobody can have attested that all its readers are "
            "known."
        ]
    codes = list(figures.not_cleanable)
    if in_doubt and not {"in_doubt", TWO_NAMES}.intersection(codes):
        codes.append("in_doubt")
    if not row.is_attested and "not_attested" not in codes:
        codes.append("not_attested")
    sentences = [NOT_CLEANABLE.get(code, code) for code in codes]
    if not figures.cleanable and not sentences:
        sentences.append("The audit says that it may not be cleaned.")
    if withheld:
        sentences.append(withheld)
    return sentences


def _planned_root(row: StorageRoot) -> PlannedRoot:
    read_at = row.place.reading
    target = local_path(row.quarantine_uri) if row.quarantine_uri else quarantine.beside(read_at)
    return PlannedRoot(
        uri=row.uri,
        read_at=read_at,
        quarantine=target,
        moves=moves_by(read_at, target),
        attested_by=row.attested_name,
        attested_at=iso_text(row.attested_at) if row.attested_at else None,
    )


def _with_way(root: PlannedRoot, plan: CleanupPlan) -> PlannedRoot:
    """Files stay in place if the bucket allows it; an operator's quarantine precedes tags."""
    grace = timedelta(seconds=plan.grace_s)
    way = way_in_place(root.read_at, waste=plan.waste, grace=grace)
    is_default = root.quarantine == quarantine.beside(root.read_at)
    if way is None or (way == Way.TAG and not is_default):
        return root
    return replace(root, moves=way.value, quarantine="")


def moves_by(source: str, target: str) -> str:
    """``rename`` if the storage can, else ``copy``, which reads and writes every byte."""
    if "://" in source or "://" in target:
        can_rename = (
            source.startswith(_RENAMING_SCHEMES)
            and target.startswith(_RENAMING_SCHEMES)
            and _authority(source) == _authority(target)
        )
    else:
        can_rename = _device(Path(source)) == _device(Path(target))
    return "rename" if can_rename else "copy"


def _authority(uri: str) -> str:
    return uri.partition("://")[2].partition("/")[0]


def _device(path: Path) -> int:
    return next(place for place in (path, *path.parents) if place.exists()).stat().st_dev


def _searched_audit(audit: StorageAudit) -> SearchedAudit:
    names = ("metadata_files", "checkpoints", "files")
    sums = RootFigures.objects.filter(audit=audit).aggregate(**{name: Sum(name) for name in names})
    as_of = iso_text(audit.as_of) if audit.as_of else ""
    return SearchedAudit(audit.audit_id, as_of, **sums)


def _save_summary(plan: CleanupPlan, name: str, manifest: PlanManifest, lease: Lease) -> None:
    summary = {
        "roots": [
            {"uri": root.uri, "files": root.files, "bytes": root.bytes, "moves": root.moves}
            for root in manifest.roots
        ],
        "withheld_roots": [
            {"uri": root.uri, "reasons": list(root.reasons)} for root in manifest.withheld_roots
        ],
        "withheld_files": dict(manifest.withheld_files),
        "statements": [asdict(statement) for statement in manifest.statements],
        "chunks": manifest.chunks,
    }
    with lease.writing():
        plan.name, plan.files, plan.bytes, plan.summary = (
            name,
            manifest.total_files,
            manifest.total_bytes,
            summary,
        )
        plan.state = PlanState.PLANNED
        plan.save(update_fields=["name", "files", "bytes", "summary", "state"])
