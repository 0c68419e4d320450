"""Every address there is: read off the resolver, its parameters filled with what is there and with
what is not.

An address that is added later is walked by itself; where its parameter names something new,
:data:`OWNER` says which model it is of.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.core.cache import cache as cached
from django.db.models import Model
from django.test import Client
from django.urls import Resolver404, URLPattern, URLResolver, get_resolver, resolve
from django.utils.regex_helper import normalize

from webapp.accounts.models import ApiToken
from webapp.alerting.models import Alert, RuleSetting, Silence
from webapp.analyses.registry import all_analyses
from webapp.checkpoints.models import CheckpointFact
from webapp.cleanup.models import CleanupPlan
from webapp.delivery.models import Delivery, Endpoint
from webapp.findings.models import Finding, ThresholdOverride
from webapp.fleet.models import Cluster
from webapp.growth.models import Objective
from webapp.incidents.models import Incident
from webapp.lib.instants import epoch_ms
from webapp.push.models import PushToken
from webapp.reports.models import IncidentReport
from webapp.storage.models import StorageRoot, StorageStatement
from webapp.work.models import PipelineRun

FEWEST = 230
"""The walk never becomes a short one unnoticed."""

OWNER: dict[str, type[Model]] = {
    "runs": PipelineRun,
    "findings": Finding,
    "tokens": ApiToken,
    "silences": Silence,
    "rule": RuleSetting,
    "rule-settings": RuleSetting,
    "threshold": ThresholdOverride,
    "thresholds": ThresholdOverride,
    "endpoints": Endpoint,
    "roots": StorageRoot,
    "plans": CleanupPlan,
    "cleanup-plans": CleanupPlan,
    "alerts": Alert,
    "incidents": Incident,
    "deliveries": Delivery,
    "reports": IncidentReport,
    "clusters": Cluster,
    "pushed-logs": PushToken,
    "objectives": Objective,
    "statements": StorageStatement,
}
"""What stands before a parameter ``pk``, ``uid`` or ``name`` → whose it is."""

MISSING: dict[str, tuple[str, ...]] = {
    "pk": ("987654",),
    "uid": tuple(f"{kind}_{'a' * 26}" for kind in ("alr", "inc", "rep", "msg")),
    "form": ("json",),
    "token": ("987654",),
    "verb": ("undo", "withdraw"),
    "id": ("987654",),
    "object_id": ("987654",),
    "content_type_id": ("987654",),
    "checkpoint_id": ("987654",),
    "trigger": ("1",),
    "rest": ("no/such/thing",),
    "app_label": ("fleet",),
    "url": ("no/such/thing",),
}
"""By the name of a parameter; every other is a name that nothing has."""


QUERY: dict[str, dict[str, str]] = {
    "storage-files": {"uri": "root"},
    "storage-files-export": {"uri": "root"},
    "storage-root": {"uri": "root"},
    "storage-chart-history": {"uri": "root"},
    "api-storage-files": {"root": "root"},
    "storage-xray": {"path": "metadata"},
    "api-storage-xray": {"path": "metadata"},
    "missing-file": {"path": "metadata"},
    "alert-setting": {"rule": "rule"},
    "storage-statement": {"kind": "excluded", "subject": "root"},
    "checkpoint-go": {"id": "checkpoint"},
    **{f"storage-{name}": {"uri": "root"} for name in all_analyses("root")},
    **{
        f"storage-{one.name}-chart-{key}": {"uri": "root"}
        for one in all_analyses("root").values()
        for key in one.charts
    },
    **{f"api-storage-analysis-{name}": {"root": "root"} for name in all_analyses("root")},
}
"""Pages that are asked for something by a parameter of the query: which one, and what of it is
there.
"""


@dataclass(frozen=True)
class Place:
    """``template`` has ``%(name)s`` for each of ``parameters``."""

    name: str
    template: str
    parameters: tuple[str, ...]
    view: Any

    @property
    def is_api(self) -> bool:
        return self.template.startswith("/api/")

    @property
    def label(self) -> str:
        return self.name or self.template

    @property
    def asks_for(self) -> dict[str, str]:
        """Parameters of the query with which there is something to see."""
        if self.name not in QUERY:
            return {}
        plan = CleanupPlan.objects.order_by("-pk").first()
        root = plan.roots[0] if plan else ""
        there = {
            "root": root,
            "metadata": f"{root}/{1:032x}/chk-1/_metadata",
            "rule": "checkpoint.declined",
            "excluded": "excluded",
        }
        there["checkpoint"] = str(
            CheckpointFact.objects.values_list("checkpoint_id", flat=True).first() or 0
        )
        return {name: there[of] for name, of in QUERY[self.name].items()}

    def filled(self, *, known: bool) -> str:
        """Its address; with ``known`` that of a row that is there."""
        choices = [
            _known(self, parameter) if known else MISSING.get(parameter, ("nobody",))
            for parameter in self.parameters
        ]
        for chosen in itertools.product(*choices):
            path = self.template % dict(zip(self.parameters, chosen, strict=True))
            if self._is_resolved(path):
                return path
        raise LookupError(
            f"{self.template} cannot be filled: say in tests/attacks/places.py what its parameters "
            "are"
        )

    def _is_resolved(self, path: str) -> bool:
        try:
            return resolve(path).func is self.view
        except Resolver404:
            return False


@cache
def places() -> tuple[Place, ...]:
    found = tuple(_walk(get_resolver(), "/", "", ()))
    assert len(found) >= FEWEST, f"only {len(found)} addresses were found"
    return found


def answered(client: Client, among: Iterable[Place]) -> Iterator[tuple[Place, Any]]:
    """What each says of a row that is there, if one is; nothing comes from the cache."""
    for place in among:
        try:
            path = place.filled(known=True)
        except (AssertionError, LookupError):
            continue
        cached.clear()
        yield place, client.get(path, place.asks_for)


def content_of(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else bytes(answer.content)


def _walk(
    resolver: URLResolver, before: str, namespace: str, given: tuple[str, ...]
) -> Iterator[Place]:
    for pattern in resolver.url_patterns:
        ((piece, parameters), *_) = normalize(pattern.pattern.regex.pattern)
        template, names = before + piece, given + tuple(parameters)
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from _walk(pattern, template, inner, names)
        elif isinstance(pattern, URLPattern):
            yield Place(namespace + (pattern.name or ""), template, names, pattern.callback)


def _known(place: Place, parameter: str) -> tuple[str, ...]:
    before = re.findall(r"[\w-]+", place.template.partition(f"%({parameter})s")[0])
    if parameter in ("pk", "token") and "users" in before:
        robot = ApiToken.objects.filter(user__username="robot").order_by("-pk").first()
        assert robot is not None, "robot has no token: tests/attacks/inhabited.py makes one"
        return (str(robot.user_id if parameter == "pk" else robot.pk),)
    if parameter in ("pk", "uid", "name"):
        value = (
            OWNER[before[-1]]
            ._default_manager.order_by("-pk")
            .values_list(parameter, flat=True)
            .first()
        )
        assert value is not None, (
            f"{OWNER[before[-1]].__name__} has no row: tests/attacks/inhabited.py makes one of each"
        )
        return (str(value),)
    if parameter in ("cluster", "job_id", "checkpoint_id"):
        return (str(CheckpointFact.objects.values_list(parameter, flat=True).get()),)
    if parameter == "trigger":
        return (str(epoch_ms(CheckpointFact.objects.values_list("trigger_time", flat=True).get())),)
    return {
        "rule_id": ("checkpoint.declined", "pressure.root"),
        "vertex_id": ("v1",),
        "host": ("host-1",),
        "taskmanager_id": ("tm-1",),
        "form": ("csv", "html"),
        "verb": ("apply",),
        "rest": ("no/such/thing",),
        "content_type_id": ("1",),
        "object_id": ("1",),
        "app_label": ("fleet",),
        "url": ("no/such/thing",),
        "file": ("weir.rules.yml",),
    }[parameter]
