"""Deletes old audits: lists of files after a few audits, rows of jobs and checkpoints after days,
daily totals after years.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import fsspec
from django.conf import settings
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import TruncDate

from webapp.storage.choices import AuditState
from webapp.storage.models import (
    AuditDoubt,
    ChainLink,
    CheckpointStorage,
    JobStorage,
    MissingFile,
    OperatorStateSize,
    RootFigures,
    StorageAudit,
    VerdictFigures,
)
from webapp.storage.newest_audits import latest_audits
from webapp.work.lease import Lease

DETAILS = timedelta(days=7)
ALL_FIGURES = timedelta(days=14)
"""After this age, one audit a day stays in the history of a root."""
HISTORY = timedelta(days=730)
FAILED = timedelta(days=30)
_RUN_DIR = re.compile(r"^storage-\d{8}T\d{6}-[0-9a-f]{8}$")


def forget_old(lease: Lease) -> int:
    """Remove run directories of old audits; returns how many. The newest audits, the newest of each
    root, and those that the next audit or a running one carries on keep theirs.
    """
    newest = (
        StorageAudit.objects.loaded()
        .order_by("-as_of", "-id")
        .values_list("audit_id", flat=True)[: settings.WEIR.storage_keep_audits]
    )
    finished = StorageAudit.objects.filter(
        files_kept=True, state__in=(AuditState.LOADED, AuditState.FAILED)
    )
    removed = 0
    for audit in finished.exclude(audit_id__in=[*newest, *_newest_of_roots(), *_carried_audits()]):
        with lease.writing():
            StorageAudit.objects.filter(pk=audit.pk).update(files_kept=False)
        remove_files(audit.run_dir)
        removed += 1
    return removed


def _newest_of_roots() -> list[str]:
    return list(latest_audits().values_list("audit_id", flat=True).distinct())


def _carried_audits() -> list[str]:
    """What an audit carries on: its previous audit, and audits that this one does not know."""
    kept = StorageAudit.objects.loaded().filter(files_kept=True).order_by("-as_of", "-id")
    of_running = kept.filter(followers__state__in=(AuditState.RUNNING, AuditState.WRITTEN))
    return [
        audit.audit_id
        for previous in (*kept[:1], *of_running.distinct())
        for audit in (previous, *StorageAudit.objects.unknown_to(previous))
    ]


def remove_files(run_dir: str) -> None:
    if not _RUN_DIR.match(run_dir.rstrip("/").rpartition("/")[2]):
        return
    filesystem, path = fsspec.core.url_to_fs(run_dir)
    if filesystem.exists(path):
        filesystem.rm(path, recursive=True)


def expired_rows(now: datetime) -> "Iterator[QuerySet[Any]]":
    """Rows to delete. The newest audit of each root keeps all its rows."""
    newest = _newest_of_roots()
    is_newest = Q(audit__audit_id__in=newest)
    for model in (
        VerdictFigures,
        JobStorage,
        ChainLink,
        CheckpointStorage,
        OperatorStateSize,
        MissingFile,
        AuditDoubt,
    ):
        yield model._default_manager.filter(audit__as_of__lt=now - DETAILS).exclude(is_newest)
    old = RootFigures.objects.filter(as_of__lt=now - ALL_FIGURES).exclude(is_newest)
    last_of_day = (
        old.annotate(day=TruncDate("as_of"))
        .values("root", "day")
        .annotate(last=Max("id"))
        .values("last")
    )
    yield old.exclude(pk__in=last_of_day)
    yield RootFigures.objects.filter(as_of__lt=now - HISTORY).exclude(is_newest)
    expired_audits = Q(state=AuditState.FAILED, created_at__lt=now - FAILED) | Q(
        state=AuditState.LOADED, as_of__lt=now - HISTORY
    )
    yield StorageAudit.objects.filter(expired_audits).exclude(audit_id__in=newest)
