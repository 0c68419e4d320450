"""The newest loaded audit of each root: what pages, the API and the fleet show.

Roots need not have been audited together: a command may have looked at one alone.
"""

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from webapp.storage.choices import AuditState
from webapp.storage.models import RootFigures


def latest() -> "QuerySet[RootFigures]":
    """One row a root."""
    newest = RootFigures.objects.filter(root=OuterRef("root"), audit__state=AuditState.LOADED).order_by("-as_of", "-id").values("pk")[:1]
    return RootFigures.objects.filter(pk=Subquery(newest))


def latest_of(root: str) -> RootFigures | None:
    """With its audit."""
    loaded = RootFigures.objects.filter(root=root, audit__state=AuditState.LOADED).select_related("audit__previous")
    return loaded.order_by("-as_of", "-id").first()


def latest_audits() -> "QuerySet[Any]":
    """``audit_id`` of each root's newest audit, as a subquery."""
    return latest().values("audit_id")
