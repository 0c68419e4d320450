"""What whoever asks may see: all clusters, or those that matchers of labels accept.

The scope of a request stands in a context variable. Every model of ours says whose its rows are
(:mod:`webapp.lib.scoped_rows`), and queries look at the scope when they are compiled: a view that
forgets about scopes shows too little, never too much. Who sees everything pays nothing: no
condition is left in the query.

Tasks and commands see everything. The server process does not (:func:`close`): what runs there
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
"""All of its matchers have to accept a cluster: its labels, and its name as ``cluster``."""
Grants = tuple[Grant, ...]
"""One of them has to."""


class Scope:
    """``must`` are grants that have to accept a cluster, each of them: those of a person, and those
    of their token. None: everything.
    """

    def __init__(self, *must: Grants) -> None:
        self.must = must

    @property
    def is_everything(self) -> bool:
        return not self.must

    @cached_property
    def clusters(self) -> frozenset[str]:
        """Names of those that there are, or were. Of removed ones the name is all that is left: a
        matcher of any other label accepts none of them, not even ``team!="payments"``.
        """
        if not any(self.must):
            return frozenset()
        known = dict(apps.get_model("fleet", "Cluster")._base_manager.values_list("name", "labels"))
        removed = apps.get_model("fleet", "RemovedCluster")._base_manager.values_list(
            "name", flat=True
        )
        labels: dict[str, Any] = {name: {} for name in removed} | known
        rows = [{**_texts(own), "cluster": name} for name, own in labels.items()]
        accepted = set(labels)
        for grants in self.must:
            of_grants: set[str] = set()
            for grant in grants:
                by_name = all(matcher.label == "cluster" for matcher in grant)
                of_grants |= {
                    row["cluster"]
                    for row, matches in zip(rows, match_each(grant, rows), strict=True)
                    if matches and (by_name or row["cluster"] in known)
                }
            accepted &= of_grants
        return frozenset(accepted)

    def holds(self, cluster: str | None) -> bool:
        return self.is_everything or (cluster or "") in self.clusters


class OfClusters(Scope):
    """Those of these names, whatever their labels are."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(())
        self._names = frozenset(names)

    @cached_property
    def clusters(self) -> frozenset[str]:
        return self._names


class Deferred(Scope):
    """Of whoever asks, who is looked up no sooner than the first row of ours."""

    def __init__(self, find: Callable[[], Scope]) -> None:
        self._find = find

    @cached_property
    def _found(self) -> Scope:
        return self._find()

    @property
    def must(self) -> tuple[Grants, ...]:  # type: ignore[override]  # found late
        return self._found.must

    @cached_property
    def clusters(self) -> frozenset[str]:
        return self._found.clusters


EVERYTHING = Scope()
NOTHING = Scope(())

_current: ContextVar[Scope | None] = ContextVar("scope", default=None)
_outside = EVERYTHING


def close() -> None:
    """From now on this process sees nothing outside a request, in no thread."""
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
    """A context for what a scoped viewer may cause, and not see: each use says why."""
    return within(EVERYTHING)


def take(scope: Scope) -> None:
    """For the rest of the request, whose middleware takes it back: who asks is known only now, by a
    token.
    """
    _current.set(scope)


def iterated(chunks: Iterable[Any], scope: Scope) -> Iterator[Any]:
    """What is streamed is read after the answer began, and in the scope of who asked all the
    same.
    """
    waiting = iter(chunks)
    while True:
        with within(scope):
            try:
                chunk = next(waiting)
            except StopIteration:
                return
        yield chunk


def require_everything(what: str) -> None:
    """Raises ``PermissionDenied`` if the viewer sees only some clusters."""
    if not current().is_everything:
        raise PermissionDenied(
            f"{what} concerns the whole fleet; you see some clusters of it. Ask an administrator "
            "of Weir."
        )


def require_cluster(name: str | None) -> None:
    """Raises ``PermissionDenied`` if this cluster is none of the viewer's."""
    if not current().holds(name):
        raise PermissionDenied("This is of no cluster that you see. Name one of yours.")


def cache_key(key: str, key_prefix: str, version: int) -> str:
    """Django's, with scope, language and time zone: what was worked out within one is never shown
    in another.
    """
    scope, language = current(), get_language() or settings.LANGUAGE_CODE
    if language != settings.LANGUAGE_CODE:
        key = f"{language}:{key}"
    if (zone := shown_zone.key()) != "UTC":
        key = f"{zone}:{key}"
    digest = (
        ""
        if scope.is_everything
        else ":" + hashlib.sha256("\n".join(sorted(scope.clusters)).encode()).hexdigest()[:32]
    )
    return f"{key_prefix}:{version}:{key}{digest}"


def _texts(labels: Any) -> dict[str, str]:
    return (
        {str(name): str(text) for name, text in labels.items()} if isinstance(labels, dict) else {}
    )
