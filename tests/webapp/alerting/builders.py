"""Findings that come and go, and what the endpoints are told of them."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.webapp.delivery.builders import endpoint
from webapp.alerting.evaluation import Evaluated, evaluate
from webapp.alerting.models import Alert
from webapp.delivery.models import Delivery, Endpoint
from webapp.delivery.notices import Notice
from webapp.findings import marks
from webapp.findings.choices import SEVERITY_RANK
from webapp.findings.models import Finding

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
TICK_S = 15
_numbers = itertools.count(1)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def unsaved(
    start: float = 0, job: str = "orders", rule: str = "checkpoint.declined", **fields: Any
) -> Finding:
    row: dict[str, Any] = {
        "cluster": "prod-eu",
        "job_id": f"{abs(hash(job)) % 16**8:032x}",
        "job_name": job,
        "severity": "warning",
        "confidence": "high",
        "subject_kind": "job",
        "subject_id": "s",
        "subject": job,
        "title": (f"Checkpoints of {job} are declined"),
        "cause": "The disk is full.",
        "next_step": "Free the disk.",
        "evidence": [],
        "first_seen": at(start),
        "last_seen": at(start),
        "as_of": at(start),
        **fields,
    }
    row.setdefault("first_attempt_id", row["job_id"])
    return Finding(rule=rule, severity_rank=SEVERITY_RANK[row["severity"]], **row)


def opened(
    start: float = 0, job: str = "orders", rule: str = "checkpoint.declined", **fields: Any
) -> Finding:
    row = unsaved(start, job, rule, **fields)
    row.save()
    return row


def closed(row: Finding, end: float, last_seen: float | None = None) -> Finding:
    """``last_seen``: where that was earlier than its end."""
    marks.close([row.pk], at(end))
    Finding.objects.filter(pk=row.pk).update(last_seen=at(end if last_seen is None else last_seen))
    row.refresh_from_db()
    return row


def unreachable(start: float = 0, cluster: str = "prod-eu") -> Finding:
    fields = {
        "cluster": cluster,
        "job_id": "",
        "job_name": None,
        "subject_id": "rest",
        "subject": f"{cluster}: rest",
    }
    return opened(
        start,
        "",
        "collect.blind",
        severity="critical",
        subject_kind="cluster",
        title=f"{cluster} is silent",
        **fields,
    )


def look(seconds: float) -> Evaluated:
    return evaluate(at(seconds))


def looks(start: float, end: float, every_s: int = 2 * TICK_S) -> None:
    """Every half of a minute, as where beat is late."""
    for second in range(int(start), int(end) + 1, every_s):
        look(second)


def somebody_listens(**fields: Any) -> Endpoint:
    return endpoint(name=f"on call {next(_numbers)}", **fields)


def told(to: Endpoint | None = None) -> list[Notice]:
    rows = Delivery.objects.order_by("id")
    return [row.notice for row in (rows.filter(endpoint=to) if to else rows)]


def kinds() -> list[str]:
    return [notice.kind for notice in told()]


def the_alert() -> Alert:
    return Alert.objects.get()
