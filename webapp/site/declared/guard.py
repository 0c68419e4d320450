"""Keeps everybody but ``manage.py apply`` from changing what a file states."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models.signals import m2m_changed, pre_delete, pre_save
from django.utils.translation import gettext

from webapp.fleet.models import Cluster
from webapp.lib import scopes
from webapp.lib.refusals import ActionRefused
from webapp.site.declared.kind import Kind
from webapp.site.declared.registry import KINDS
from webapp.site.models import DeclaredRow
from webapp.storage.models import StorageRoot

_is_applying: ContextVar[bool] = ContextVar("is_applying", default=False)


class StatedInFile(ActionRefused, PermissionDenied):
    """Forms show it beside themselves; other pages and the API answer 403."""


@contextmanager
def applying() -> Iterator[None]:
    token = _is_applying.set(True)
    try:
        yield
    finally:
        _is_applying.reset(token)


def file_of(kind: Kind, row: Any) -> str:
    """The file that states the row; "" if none does. None states a silence that is over."""
    with scopes.everything():
        if not kind.rows().filter(pk=row.pk).exists():
            return ""
        files = DeclaredRow.objects.filter(kind=kind.name, key=kind.key(kind.entry(row)))
        return files.values_list("file", flat=True).first() or ""


def connect() -> None:
    for kind in KINDS.values():
        _Guard(kind).connect()
    roots = _Guard(KINDS["storage_roots"])
    through = StorageRoot.clusters.through
    m2m_changed.connect(roots.check_clusters, sender=through, weak=False)
    pre_delete.connect(_refuse_removal_of_named_cluster, sender=Cluster, weak=False)


def _refuse_removal_of_named_cluster(instance: Cluster, **_signal: Any) -> None:
    if _is_applying.get():
        return
    with scopes.everything():
        roots = list(StorageRoot.objects.filter(clusters=instance))
    for root in roots:
        if file := file_of(KINDS["storage_roots"], root):
            # Not which root: who removes the cluster may not see the others that it has.
            raise StatedInFile(
                gettext(
                    "The file %(file)s names this cluster as one of a storage root: change it "
                    "there, and run manage.py apply."
                )
                % {"file": file}
            )


class _Guard:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def connect(self) -> None:
        pre_save.connect(self.check_save, sender=self.kind.model, weak=False)
        pre_delete.connect(self.check_removal, sender=self.kind.model, weak=False)

    def check_save(
        self, instance: Any, update_fields: frozenset[str] | None = None, **_signal: Any
    ) -> None:
        is_other = update_fields is not None and not update_fields & self.kind.columns
        if _is_applying.get() or instance._state.adding or is_other:
            return
        with scopes.everything():
            stored = self.kind.model._base_manager.filter(pk=instance.pk).first()
        if stored is not None and self._content(stored) != self._content(instance):
            self._refuse_stated(stored)

    def check_removal(self, instance: Any, **_signal: Any) -> None:
        if not _is_applying.get():
            self._refuse_stated(instance)

    def check_clusters(self, instance: Any, action: str, pk_set: Any, **_signal: Any) -> None:
        if action in ("pre_add", "pre_remove", "pre_clear") and not _is_applying.get():
            self._refuse_stated(instance)

    def _content(self, row: Any) -> tuple[Any, ...]:
        return tuple(getattr(row, column) for column in sorted(self.kind.columns))

    def _refuse_stated(self, row: Any) -> None:
        if file := file_of(self.kind, row):
            raise StatedInFile(
                gettext("The file %(file)s states this: change it there, and run manage.py apply.")
                % {"file": file}
            )
