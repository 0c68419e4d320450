"""What can be written and who may: the declared matrix, with a good body for each, so that a
refusal is never that of a bad one.

A new write is declared here: until it is, the tests say that an address changes something that
nobody declared.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from tests.attacks.inhabited import KEY, MATCHERS
from tests.attacks.places import Place, places
from webapp.accounts.models import User
from webapp.accounts.roles import Role
from webapp.alerting.models import Alert
from webapp.cleanup.models import CleanupPlan
from webapp.delivery.models import Endpoint
from webapp.fleet.models import JobCurrent

Body = dict[str, Any]
TEXT_MATCHERS = 'cluster="prod-eu"'
PASSWORD = "correct horse battery"
ACCESS = {"role": "operator", "sees": "only", "sees_only": 'team="payments"'}
NEW_PASSWORD = "another horse battery 4711"


@dataclass(frozen=True)
class Write:
    """``least``: the lowest role that may; ``changes``: whether the database is another one when it
    was allowed.
    """

    least: Role
    body: Callable[[], Body] = dict
    method: str = "post"
    changes: bool = True
    approves: bool = False


def operators(body: Callable[[], Body] = dict, **more: Any) -> Write:
    return Write(Role.OPERATOR, body, **more)


def administrators(body: Callable[[], Body] = dict, **more: Any) -> Write:
    return Write(Role.ADMIN, body, **more)


def _job() -> JobCurrent:
    found = JobCurrent.objects.order_by("pk").first()
    assert found is not None
    return found


def _operator() -> str:
    found = User.objects.filter(groups__name=Role.OPERATOR.group, sees__isnull=True).first()
    assert found is not None
    return found.username


def _in_an_hour() -> str:
    return (timezone.now() + timedelta(hours=1)).isoformat()


def _cluster(name: str) -> Body:
    return {
        "name": name,
        "url": "http://127.0.0.1:1",
        "metrics_interval_s": "10",
        "verify_tls": "on",
    }


def _endpoint(name: str) -> Body:
    return {
        "name": name,
        "format": "weir",
        "url": "https://8.8.8.8/hook",
        "min_severity": "warning",
        "matchers": TEXT_MATCHERS,
    }


def _plan() -> CleanupPlan:
    found = CleanupPlan.objects.order_by("-pk").first()
    assert found is not None
    return found


FORMS: dict[str, Write] = {
    "account-password": Write(
        Role.VIEWER,
        lambda: {
            "old_password": PASSWORD,
            "new_password1": NEW_PASSWORD,
            "new_password2": NEW_PASSWORD,
        },
    ),
    "account-sign-out": Write(Role.VIEWER),
    "access-user-add": administrators(lambda: {"username": "newcomer", **ACCESS}),
    "access-user-change": administrators(lambda: {**ACCESS, "role": "viewer"}),
    "access-user-switch": administrators(lambda: {"disable": "1"}),
    "access-user-password": administrators(),
    "access-user-sign-out": administrators(),
    "access-user-remove": administrators(changes=False),
    "access-user-token-revoke": administrators(),
    "account-token-create": Write(
        Role.VIEWER, lambda: {"name": "mine", "scope": "read", "days": "30"}
    ),
    "alerts-acknowledge": operators(
        lambda: {"uid": Alert.objects.values_list("uid", flat=True)[0], "comment": "mine"}
    ),
    "incident-acknowledge": operators(lambda: {"comment": "mine"}),
    "incident-assign": operators(lambda: {"owner": _operator()}),
    "incident-silence": operators(lambda: {"hours": "4"}),
    "silence-new": operators(lambda: {"matchers": TEXT_MATCHERS, "reason": "known", "hours": "2"}),
    "silence-end": operators(),
    "objective-set": operators(
        lambda: {
            "name": "all",
            "kind": "availability",
            "target": "99.9",
            "limit_s": "",
            "matchers": "",
        }
    ),
    "objective-remove": operators(),
    "alert-setting": operators(lambda: {"rule": "checkpoint.expired", "severity": "critical"}),
    "alert-setting-remove": operators(),
    "threshold-save": operators(
        lambda: {"cluster": "", "job_id": "", "rule": "pressure.root", KEY: "0.6"}
    ),
    "threshold-remove": operators(),
    "endpoint-add": operators(lambda: _endpoint("new")),
    "endpoint-edit": operators(lambda: _endpoint("renamed")),
    "endpoint-rotate": operators(),
    "endpoint-test": operators(),
    "endpoint-switch": operators(lambda: {"disable": "1"}),
    "endpoint-remove": operators(lambda: {"name": Endpoint.objects.order_by("-pk")[0].name}),
    "deliveries-replay": operators(
        lambda: {"endpoint": str(Endpoint.objects.order_by("-pk")[0].pk)}
    ),
    "delivery-replay": operators(),
    "threads-ask": operators(changes=False),
    "replication-ask": operators(
        lambda: {"destination": "s3://elsewhere/copies", "every_s": "300"}, changes=False
    ),
    "replication-order": operators(lambda: {"order": "now"}),
    "reports-new": operators(
        lambda: {"job": f"{_job().cluster}/{_job().job_id}", "from": "now-1h", "to": "now"}
    ),
    "report-delete": operators(),
    "cluster-add": operators(lambda: _cluster("new")),
    "cluster-edit": operators(lambda: _cluster("prod-eu")),
    "cluster-test": operators(),
    "cluster-pause": operators(lambda: {"pause": "1"}),
    "cluster-remove": operators(lambda: {"name": "prod-eu"}),
    "demo-remove": operators(changes=False),
    "push-tokens": operators(lambda: {"name": "vector", "days": "90"}),
    "push-token-revoke": operators(),
    "storage-audit-now": operators(),
    "storage-root-add": operators(
        lambda: {
            "uri": "s3://bucket/new",
            "kind": "checkpoints",
            "enabled": "on",
        }
    ),
    "storage-root-edit": operators(
        lambda: {
            "uri": _plan().roots[0],
            "kind": "savepoints",
            "enabled": "on",
        }
    ),
    "storage-root-attest": operators(lambda: {"withdraw": "1"}),
    "storage-root-remove": operators(),
    "storage-statement": operators(
        lambda: {
            "kind": "excluded",
            "subject": f"{_plan().roots[0]}/elsewhere",
            "reason": "another tree",
        }
    ),
    "storage-statement-end": operators(),
    "cleanup-plan-make": operators(lambda: {"root": _plan().roots[0]}),
    "cleanup-plan-order": operators(changes=False),
    "cleanup-plan-approve": Write(Role.ADMIN, lambda: {"name": _plan().short_name}, approves=True),
}
"""Forms of pages, by the name of their address.

Whatever is not here and not of :data:`OWN_DOOR` writes nothing.
"""

BUTTONS: dict[tuple[str, str], str] = {
    ("alerts-acknowledge", "take_back"): "alert.take-back",
    ("incident-acknowledge", "take_back"): "incident.take-back",
    ("cluster-add", "test"): "cluster.test",
    ("cluster-edit", "test"): "cluster.test",
    ("cluster-pause", "resume"): "cluster.resume",
    ("access-user-switch", "enable"): "person.enable",
    ("endpoint-switch", "enable"): "endpoint.enable",
    ("storage-root-attest", "withdraw"): "storage-root.withdraw",
}
"""Buttons of forms that do something else than their address says, and what the log calls that."""

OWN_DOOR = (
    "sign-in",
    "choose-language",
    "choose-time-zone",
    "sign-out",
    "account-token-revoke",
)
"""What concerns nobody but whoever sends it."""

API: dict[tuple[str, str], Write] = {
    ("api-alerts-acknowledge", "post"): operators(lambda: {"comment": "mine"}),
    ("api-alerts-take-back", "post"): operators(changes=False),
    ("api-cleanup-plans-list", "post"): operators(lambda: {"roots": _plan().roots}),
    ("api-cleanup-plans-approve", "post"): Write(Role.ADMIN, approves=True),
    ("api-cleanup-plans-order", "post"): operators(lambda: {"verb": "withdraw"}),
    ("api-incidents-acknowledge", "post"): operators(lambda: {"comment": "mine"}),
    ("api-incidents-assign", "post"): operators(lambda: {"owner": _operator()}),
    ("api-incidents-silence", "post"): operators(lambda: {"lasts_s": 600}),
    ("api-incidents-take-back", "post"): operators(changes=False),
    ("api-reports-list", "post"): operators(
        lambda: {
            "jobs": [{"cluster": _job().cluster, "job_id": _job().job_id}],
            "from": "now-1h",
            "to": "now",
        }
    ),
    ("api-reports-detail", "delete"): operators(),
    ("api-silences-list", "post"): operators(
        lambda: {"matchers": MATCHERS, "reason": "known", "ends_at": _in_an_hour()}
    ),
    ("api-silences-end", "post"): operators(),
}
"""Operations of the API, by the name of their address and method."""

OF_SHIPPERS = (
    "api-push-json",
    "api-push-otlp",
    "api-push-otlp-metrics",
    "api-push-otlp-traces",
    "api-push-loki",
)
"""Open to tokens of their own alone, which open nothing else; nobody who signs in otherwise may use
them.
"""


def form_places() -> list[tuple[Place, Write]]:
    return [(place, FORMS[place.name]) for place in places() if place.name in FORMS]


def api_places() -> list[tuple[Place, Write]]:
    by_name = {place.name: place for place in places() if place.is_api}
    return [
        (by_name[name], write if method == write.method else _of(write, method))
        for (name, method), write in API.items()
    ]


def _of(write: Write, method: str) -> Write:
    return Write(write.least, write.body, method, write.changes, write.approves)
