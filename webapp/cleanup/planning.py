"""Makes plans from audits: which roots may be cleaned, why others may not, and where files would
wait.
"""

import secrets
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
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
    instant_text,
)
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.plan_builder import PlanRequest, Say, build
from webapp.cleanup.ways import way_in_place
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

_ONE_STEP_MOVES = ("hdfs://", "viewfs://", "webhdfs://")


def request_plan(
    roots: Sequence[str], *, waste: bool, user: Any, name: str, at: datetime
) -> CleanupPlan:
    """A plan to be made of the newest audit that looked at these roots (canonical; none named: all
    of the newest audit).

    Raises :class:`PlanRefused`.
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
    """Writes the plan's files and notes their totals in its row.

    Raises :class:`PlanRefused`.
    """
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
    planned = [_in_its_way(root, plan) for root in planned]
    audit_manifest = loading.read_manifest(audit)
    say(f"planning from audit {audit.audit_id}, which began at {audit.as_of:%Y-%m-%d %H:%M:%S} UTC")
    name, manifest = build(
        PlanRequest(
            verdict_files=file_uris(audit_manifest, STORAGE_FILE.name),
            audit_id=audit.audit_id,
            audits=[
                searched(audited) for audited in (audit.previous, audit) if audited is not None
            ],
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
    _note(plan, name, manifest, lease)
    return manifest


def quoted_statements(audit: StorageAudit) -> list[QuotedStatement]:
    """Attestations that count now and counted when the audit was made.

    Raises :class:`PlanRefused` if one was taken back since: what the audit says of its job rests on
    it.
    """
    at_audit = StorageStatement.objects.filter(kind=DEAD_JOB, stated_at__lte=audit.created_at)
    void = set(
        AuditDoubt.objects.filter(audit=audit, reason=VOID_ATTESTATION).values_list(
            "subject", flat=True
        )
    )
    for ended in at_audit.filter(ended_at__gt=audit.created_at):
        if ended.named in void:
            continue
        raise PlanRefused(
            f"The attestation of {ended.stated_name} for {ended.named} does not count any more, and "
            f"the audit rests on it ({ended.ended_why}). Audit again."
        )
    return [
        QuotedStatement(row.place, row.stated_name, instant_text(row.stated_at), row.reason)
        for row in at_audit.counting()
    ]


def scanned_places() -> list[str]:
    """All registered roots: canonical URIs and the URIs at which they are read."""
    rows = StorageRoot.objects.all()
    return [place for row in rows for place in (row.uri, row.place.reading)]


def sort_roots(
    audit: StorageAudit, asked: Sequence[str]
) -> tuple[list[PlannedRoot], list[WithheldRoot]]:
    """Roots that may be cleaned, and the others with reasons."""
    figures = {row.root: row for row in RootFigures.objects.filter(audit=audit)}
    rows = {row.uri: row for row in StorageRoot.objects.filter(uri__in=asked)}
    everywhere = AuditDoubt.objects.filter(audit=audit, reach=ALL_ROOTS).exists()
    planned, withheld = [], []
    for uri in asked:
        of_root = figures.get(uri)
        reasons = _reasons(of_root, rows.get(uri), audit.withheld.get(uri, ""), doubt=everywhere)
        if of_root is not None and TWO_NAMES in of_root.not_cleanable:
            reasons += second_names(audit, uri)
        if reasons:
            withheld.append(WithheldRoot(uri, tuple(reasons)))
        else:
            planned.append(_plan(rows[uri]))
    return planned, withheld


def _reasons(
    figures: RootFigures | None, row: StorageRoot | None, withheld: str, *, doubt: bool
) -> list[str]:
    """Sentences; empty if the root may be cleaned."""
    if figures is None:
        return ["The audit says nothing of this root."]
    if row is None:
        return [
            (
                "This root is not registered, so nobody can have attested that all its readers are "
                "known."
            )
        ]
    codes = list(figures.not_cleanable)
    if doubt and not {"in_doubt", TWO_NAMES}.intersection(codes):
        codes.append("in_doubt")
    if not row.is_attested and "not_attested" not in codes:
        codes.append("not_attested")
    sentences = [NOT_CLEANABLE.get(code, code) for code in codes]
    if not figures.cleanable and not sentences:
        sentences.append("The audit says that it may not be cleaned.")
    return [*sentences, *([withheld] if withheld else [])]


def _plan(row: StorageRoot) -> PlannedRoot:
    read_at = row.place.reading
    waits_at = local_path(row.quarantine_uri) if row.quarantine_uri else quarantine.beside(read_at)
    return PlannedRoot(
        uri=row.uri,
        read_at=read_at,
        quarantine=waits_at,
        moves=moves_by(read_at, waits_at),
        attested_by=row.attested_name,
        attested_at=instant_text(row.attested_at) if row.attested_at else None,
    )


def _in_its_way(root: PlannedRoot, plan: CleanupPlan) -> PlannedRoot:
    """Files that can wait in place are not copied. If only a tag would mark them, a quarantine that
    an operator named is used instead.
    """
    grace = timedelta(seconds=plan.grace_s)
    way = way_in_place(root.read_at, waste=plan.waste, grace=grace)
    is_named = root.quarantine != quarantine.beside(root.read_at)
    if way is None or (way == Way.TAG and is_named):
        return root
    return replace(root, moves=way.value, quarantine="")


def moves_by(source: str, target: str) -> str:
    """``rename`` if the storage can, else ``copy``, which reads and writes every byte."""
    if "://" in source or "://" in target:
        same = (
            source.partition("://")[2].partition("/")[0]
            == target.partition("://")[2].partition("/")[0]
        )
        return (
            "rename"
            if same and source.startswith(_ONE_STEP_MOVES) and target.startswith(_ONE_STEP_MOVES)
            else "copy"
        )
    devices = [_nearest(path).stat().st_dev for path in (Path(source), Path(target))]
    return "rename" if devices[0] == devices[1] else "copy"


def _nearest(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())


def searched(audit: StorageAudit) -> SearchedAudit:
    figures = list(
        RootFigures.objects.filter(audit=audit).values_list(
            "metadata_files", "checkpoints", "files"
        )
    )
    metadata, checkpoints, files = (
        (sum(column) for column in zip(*figures, strict=True)) if figures else (None, None, None)
    )
    as_of = instant_text(audit.as_of) if audit.as_of else ""
    return SearchedAudit(audit.audit_id, as_of, metadata, checkpoints, files)


def _note(plan: CleanupPlan, name: str, manifest: PlanManifest, lease: Lease) -> None:
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
