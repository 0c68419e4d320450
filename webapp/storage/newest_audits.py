"""The newest loaded audit of each root, for pages, the API and the fleet. Roots may have been
audited separately.
"""

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext

from ingest.storage.instants import CLOCK_SKEW
from webapp.storage.choices import AuditState
from webapp.storage.models import URI_LENGTH, CheckpointStorage, JobStorage, RootFigures

MOST_ROOTS = 5


def _loaded(manager: Any) -> Any:
    return manager.filter(audit__state=AuditState.LOADED, as_of__lte=timezone.now() + CLOCK_SKEW)


def _newest(manager: Any) -> Any:
    figures = _loaded(manager).filter(root=OuterRef("root")).order_by("-as_of", "-id")
    return manager.filter(pk=Subquery(figures.values("pk")[:1]))


def loaded_figures() -> "QuerySet[RootFigures]":
    """Figures of complete audits; audits from the future are excluded."""
    figures: QuerySet[RootFigures] = _loaded(RootFigures.objects)
    return figures


def latest() -> "QuerySet[RootFigures]":
    """The newest figures of each root."""
    figures: QuerySet[RootFigures] = _newest(RootFigures.objects)
    return figures


def latest_of(root: str) -> RootFigures | None:
    """The newest figures of the root, with their audit."""
    return (
        loaded_figures()
        .filter(root=root)
        .select_related("audit__previous")
        .order_by("-as_of", "-id")
        .first()
    )


def audited_or_404(root: str) -> RootFigures:
    figures = latest_of(root)
    if figures is None:
        raise Http404(gettext("No audit has looked at this root."))
    return figures


def of_job(cluster: str, job_id: str) -> list[JobStorage]:
    """Rows of one job, one for each root, largest first; at most ``MOST_ROOTS``."""
    rows = JobStorage.objects.filter(
        cluster=cluster, job_id=job_id, audit__in=latest_audits()
    ).select_related("audit")
    return list(rows.order_by("-bytes", "-id")[:MOST_ROOTS])


def latest_checkpoint(metadata_path: str) -> CheckpointStorage | None:
    """The checkpoint in the newest audit of its root, with the audit; None if the audit lacks it."""
    rows = CheckpointStorage.objects.filter(
        audit__in=latest_audits(), metadata_path=metadata_path[:URI_LENGTH]
    )
    return rows.select_related("audit").order_by("-id").first()


def latest_audits() -> "QuerySet[Any]":
    """``audit_id`` of the newest audit of each root, as a subquery. Includes roots that the user
    may not see, which may contain jobs that the user may see.
    """
    audits: QuerySet[Any] = _newest(RootFigures._base_manager).values("audit_id")
    return audits
