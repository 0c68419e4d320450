"""Notices, endpoints and deliveries for tests: each builder takes what the test is about and fills
in the rest.
"""

import ipaddress
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from webapp.config import encryption
from webapp.delivery import outbox, signing
from webapp.delivery.addresses import Policy
from webapp.delivery.models import Delivery, Endpoint
from webapp.delivery.notices import Notice, NoticeAlert

T0 = datetime(2026, 3, 1, 4, 10, tzinfo=UTC)
LOOPBACK = Policy(allow_http=True, networks=(ipaddress.ip_network("127.0.0.0/8"),))
_numbers = itertools.count(1)

EVIDENCE = (
    {"name": "declined checkpoints", "value": 4, "unit": "", "threshold": 1, "comparison": ">="},
    {"name": "busy", "value": 986.123456, "unit": "ms/s", "threshold": 500, "comparison": ">="},
)
LINKS = {
    name: f"https://weir.example.org/{name}/alr_1?from=a&to=b"
    for name in ("alert", "finding", "runbook", "job")
}


def alert(**fields: Any) -> NoticeAlert:
    number = next(_numbers)
    told: dict[str, Any] = {
        "uid": f"alr_{number}",
        "fingerprint": f"{number:032x}",
        "status": "firing",
        "rule": "checkpoint.declined",
        "family": "checkpoint",
        "severity": "critical",
        "confidence": "high",
        "cluster": "prod-eu",
        "job_id": f"{number:032x}",
        "job_name": "orders",
        "subject_kind": "job",
        "subject": "orders",
        "title": "Checkpoints of orders are declined",
        "cause": "Subtask 3 of slow-enrich on host-7 ran out of disk.",
        "next_step": "Free disk space on host-7, then watch the next checkpoint.",
        "starts_at": T0,
        "evidence": EVIDENCE,
        "links": LINKS,
        **fields,
    }
    if told["status"] == "resolved":
        told.setdefault("ends_at", T0 + timedelta(minutes=7))
    return NoticeAlert(**told)


def notice(*alerts: NoticeAlert, **fields: Any) -> Notice:
    told = alerts or (alert(),)
    firing = sum(one.status == "firing" for one in told)
    status = "firing" if firing else "resolved"
    given: dict[str, Any] = {
        "uid": f"ntc_{next(_numbers)}",
        "kind": status,
        "group": f"{told[0].cluster}/{told[0].family}",
        "cluster": told[0].cluster,
        "family": told[0].family,
        "status": status,
        "alerts": told,
        "alerts_total": len(told),
        "firing_total": firing,
        "resolved_total": len(told) - firing,
        "changed": frozenset(one.uid for one in told),
        "made_at": T0,
        "repeat_after_s": 4 * 3600,
        **fields,
    }
    return Notice(**given)


def endpoint(url: str = "https://hooks.example.org/weir", **fields: Any) -> Endpoint:
    given: dict[str, Any] = {
        "name": f"endpoint {next(_numbers)}",
        "format": "weir",
        "url_encrypted": encryption.encrypt(url),
        "secret_encrypted": encryption.encrypt(signing.new_secret()),
        **fields,
    }
    return Endpoint.objects.create(**given)


def delivery(to: Endpoint, told: Notice | None = None, **fields: Any) -> Delivery:
    row = outbox.queue_for(told or notice(), to)
    Delivery.objects.filter(uid=row.uid).update(**fields)
    return Delivery.objects.get(uid=row.uid)
