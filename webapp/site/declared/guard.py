"""Keeps everybody but ``manage.py apply`` from changing what a file states."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.core.exceptions import PermissionDenied
from django.db.models.signals import m2m_changed, pre_delete, pre_save
from django.utils.translation import gettext

from webapp.fleet.models import Cluster
from webapp.lib import scopes
from webapp.lib.refusals import ActionRefused
from webapp.site.declared.names import MODEL_OF
from webapp.site.models import DeclaredRow
from webapp.storage.models import StorageRoot

if TYPE_CHECKING:
    from webapp.site.declared.kind import Kind

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


def connect() -> None:
    for name, label in MODEL_OF.items():
        guard, model = _Guard(name), apps.get_model(label)
        pre_save.connect(guard.check_save, sender=model, weak=False)
        pre_delete.connect(guard.check_removal, sender=model, weak=False)
    roots, through = _Guard("storage_roots"), StorageRoot.clusters.through
    m2m_changed.connect(roots.check_clusters, sender=through, weak=False)
    pre_delete.connect(roots.check_removal_of_cluster, sender=Cluster, weak=False)


class _Guard:
    """``kind_name``: a key of :data:`MODEL_OF`."""

    def __init__(self, kind_name: str) -> None:
        self.kind_name = kind_name

    def check_save(
        self, instance: Any, update_fields: frozenset[str] | None = None, **_signal: Any
    ) -> None:
        if instance._state.adding or (kind := self._guarded()) is None:
            return
        if update_fields is not None and not update_fields & kind.columns:
            return
        with scopes.everything():
            stored = kind.rows().filter(pk=instance.pk).first()
        if stored is not None and any(
            getattr(stored, name) != getattr(instance, name) for name in kind.columns
        ):
            _refuse_stated(kind, stored)

    def check_removal(self, instance: Any, **_signal: Any) -> None:
        if (kind := self._guarded()) is not None:
            _refuse_stated(kind, instance)

    def check_clusters(self, instance: Any, action: str, **_signal: Any) -> None:
        if action in ("pre_add", "pre_remove", "pre_clear"):
            self.check_removal(instance)

    def check_removal_of_cluster(self, instance: Any, **_signal: Any) -> None:
        """For the guard of roots. The root is not named: others may not see it."""
        if (kind := self._guarded()) is None:
            return
        with scopes.everything():
            roots = list(kind.rows().filter(clusters=instance))
        if file := next(filter(None, (_file_of(kind, root) for root in roots)), ""):
            raise StatedInFile(
                gettext(
                    "The file %(file)s lists this cluster under a storage root. Change it there, "
                    "then run manage.py apply."
                )
                % {"file": file}
            )

    def _guarded(self) -> "Kind | None":
        """None if no file states any row of this kind, or if files are being applied."""
        if _is_applying.get():
            return None
        with scopes.everything():
            if not DeclaredRow.objects.filter(kind=self.kind_name).exists():
                return None
        # With all that it needs, which few commands do.
        from webapp.site.declared.registry import KINDS

        return KINDS[self.kind_name]


def _file_of(kind: "Kind", row: Any) -> str:
    """The file that states the row; "" if none does. None states a silence that is over."""
    with scopes.everything():
        if not kind.rows().filter(pk=row.pk).exists():
            return ""
        stated = DeclaredRow.objects.filter(kind=kind.name, key=kind.key(kind.entry(row)))
        return stated.values_list("file", flat=True).first() or ""


def _refuse_stated(kind: "Kind", row: Any) -> None:
    """Raises :class:`StatedInFile`."""
    if file := _file_of(kind, row):
        raise StatedInFile(
            gettext("The file %(file)s states this. Change it there, then run manage.py apply.")
            % {"file": file}
        )
