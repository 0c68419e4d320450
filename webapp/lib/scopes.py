"""What a viewer may see: all clusters, or those that label matchers accept. The scope of a request
is in a context variable. Every model declares who may see its rows (:mod:`webapp.lib.scoped_rows`),
and queries read the scope when they are compiled: a view that forgets about scopes shows too
little, never too much. Tasks and commands see everything. In a server process (:func:`close`), code
outside a request sees nothing.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.utils.translation import get_language

from webapp.lib import shown_zone
from webapp.lib.matchers import Matcher, match_each

Grant = tuple[Matcher, ...]
"""Accepts a cluster if all matchers accept its labels, and its name as the label ``cluster``."""
Grants = tuple[Grant, ...]
"""Accept a cluster if one grant does."""


class Scope:
    """``must``: the grants of a person and those of their token, which both must accept a cluster.
    Without any, everything is visible.
    """

    def __init__(self, *must: Grants) -> None:
        self.must = must

    @property
    def is_everything(self) -> bool:
        return not self.must

    @cached_property
    def clusters(self) -> frozenset[str]:
        """Removed clusters have a name but no labels, so a grant with another label accepts none of
        them, not even ``team!="payments"``.
        """
        if not any(self.must):
            return frozenset()
        existing = dict(
            apps.get_model("fleet", "Cluster")._base_manager.values_list("name", "labels")
        )
        removed = apps.get_model("fleet", "RemovedCluster")._base_manager.values_list(
            "name", flat=True
        )
        labels: dict[str, Any] = {name: {} for name in removed} | existing
        rows = [
            {**_texts(cluster_labels), "cluster": name} for name, cluster_labels in labels.items()
        ]
        accepted = set(labels)
        for grants in self.must:
            by_grants: set[str] = set()
            for grant in grants:
                is_by_name = all(matcher.label == "cluster" for matcher in grant)
                by_grants |= {
                    row["cluster"]
                    for row, matches in zip(rows, match_each(grant, rows), strict=True)
                    if matches and (is_by_name or row["cluster"] in existing)
                }
            accepted &= by_grants
        return frozenset(accepted)

    def holds(self, cluster: str | None) -> bool:
        return self.is_everything or (cluster or "") in self.clusters


class OfClusters(Scope):
    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(())
        self._names = frozenset(names)

    @cached_property
    def clusters(self) -> frozenset[str]:
        return self._names


class Deferred(Scope):
    """The scope of a user who is looked up at the first query."""

    def __init__(self, find: Callable[[], Scope]) -> None:
        self._find = find

    @cached_property
    def _scope(self) -> Scope:
        return self._find()

    @property
    def must(self) -> tuple[Grants, ...]:  # type: ignore[override]  # a property here
        return self._scope.must

    @cached_property
    def clusters(self) -> frozenset[str]:
        return self._scope.clusters


EVERYTHING = Scope()
NOTHING = Scope(())

_current: ContextVar[Scope | None] = ContextVar("scope", default=None)
_outside = EVERYTHING


def close() -> None:
    """From now on, threads of this process see nothing outside a request."""
    global _outside
    _outside = NOTHING


def current() -> Scope:
    return _current.get() or _outside


@contextmanager
def within(scope: Scope) -> Iterator[None]:
    token = _current.set(scope)
    try:
        yield
    finally:
        _current.reset(token)


def everything() -> Any:
    """A context for effects that a viewer may cause but not see. Each use says why."""
    return within(EVERYTHING)


def take(scope: Scope) -> None:
    """Sets the scope of an API request, whose token is read after the middleware has begun. The
    middleware resets the scope.
    """
    _current.set(scope)


def require_everything(what: str) -> None:
    if not current().is_everything:
        raise PermissionDenied(
            f"{what} concerns the whole fleet; you see some clusters of it. Ask an administrator "
            "of Weir."
        )


def require_cluster(name: str | None) -> None:
    if not current().holds(name):
        raise PermissionDenied("This is of no cluster that you see. Name one of yours.")


def cache_key(key: str, key_prefix: str, version: int) -> str:
    """Django's ``KEY_FUNCTION``: viewers of another scope, language or time zone have other
    entries.
    """
    scope, language = current(), get_language() or settings.LANGUAGE_CODE
    if language != settings.LANGUAGE_CODE:
        key = f"{language}:{key}"
    if (zone := shown_zone.key()) != "UTC":
        key = f"{zone}:{key}"
    if not scope.is_everything:
        names = "\n".join(sorted(scope.clusters))
        key = f"{key}:{hashlib.sha256(names.encode()).hexdigest()[:32]}"
    return f"{key_prefix}:{version}:{key}"


def _texts(labels: Any) -> dict[str, str]:
    return (
        {str(name): str(text) for name, text in labels.items()} if isinstance(labels, dict) else {}
    )
