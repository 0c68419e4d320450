"""Examples in the demo besides its jobs: audited storage, an unapproved plan, an acknowledged
alert, a silence, a report. Each is made once, like by people, when its data exist.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from ingest.replay.shipped import PREFIX
from webapp.alerting import actions
from webapp.alerting.choices import OPEN
from webapp.alerting.models import Alert, Silence
from webapp.cleanup import orders as cleanup_orders
from webapp.cleanup import planning
from webapp.cleanup.models import CleanupPlan
from webapp.fleet import demo
from webapp.lib.matchers import parse_lines
from webapp.reports import orders as report_orders
from webapp.reports.models import IncidentReport
from webapp.reports.report_scope import JobKey, checked
from webapp.site import demo_storage
from webapp.storage.auditing import work_keys
from webapp.storage.models import AuditDoubt
from webapp.work.lease import Lease
from webapp.work.runs import RunRecord

NAME = "the demo"
"""The actor of these actions, since no user does them."""
KEY = "demo/tour"

SILENCED_FOR = timedelta(days=1)
REPORTED = timedelta(hours=1)
DOUBTED_FOR = timedelta(minutes=1)
"""Between two audits of which the first had doubts."""
MOST_AUDITS = 5
"""A live root changes while it is listed, which may raise doubts in an audit; after so many audits
the plan itself says why it is empty.
"""

Made = bool
Step = Callable[[datetime], Callable[[Lease, RunRecord], Made] | None]
"""The function that makes it, if it can be made now."""


def is_due() -> bool:
    return (
        settings.WEIR.demo
        and not demo.is_removed()
        and bool(_remaining_steps())
        and demo.clusters().exists()
    )


def has_work() -> bool:
    return is_due() and any(step(timezone.now()) for step in _remaining_steps().values())


def go_on(lease: Lease, record: RunRecord) -> None:
    for name, step in _remaining_steps().items():
        make = step(timezone.now())
        if make and make(lease, record):
            record.say(f"{name}: made")
            _note(name)


def was_begun() -> bool:
    return _noted_in().exists() or demo_storage.roots().exists()


def remove(now: datetime) -> None:
    demo_storage.remove(now)
    Silence.objects.filter(author_name=NAME).delete()
    for report in IncidentReport.objects.filter(author=None, author_name=NAME):
        report_orders.delete(report)
    _noted_in().unlink(missing_ok=True)


def _audits(now: datetime) -> Callable[[Lease, RunRecord], Made] | None:
    ended_at = demo_storage.past_ended_at()
    if ended_at is None:
        return None

    def make(lease: Lease, record: RunRecord) -> Made:
        demo_storage.audit_the_past(ended_at, NAME, lease, record)
        return work_keys.audit_now(now)

    return make


def _plan(now: datetime) -> Callable[[Lease, RunRecord], Made] | None:
    audits = demo_storage.later_audits()
    if not audits:
        return None
    doubted = AuditDoubt.objects.filter(audit=audits[0]).exists()
    if doubted and len(audits) < MOST_AUDITS:
        return (
            _look_again
            if audits[0].finished_at and now - audits[0].finished_at > DOUBTED_FOR
            else None
        )

    def make(lease: Lease, record: RunRecord) -> Made:
        if not CleanupPlan.objects.filter(created_by=None, created_name=NAME).exists():
            plan = planning.request_plan(
                demo_storage.PAST_ROOTS, waste=True, user=None, name=NAME, at=now
            )
            cleanup_orders.wake(plan, now)
        return True

    return make


def _look_again(lease: Lease, record: RunRecord) -> Made:
    work_keys.audit_now(timezone.now())
    return False


def _acknowledgement(now: datetime) -> Callable[[Lease, RunRecord], Made] | None:
    alert = _open_alerts("payments", "checkpoint.declined").first()
    if alert is None:
        return None
    return lambda _lease, _record: bool(
        actions.acknowledge(
            [alert.uid], None, "The disk of flink-tm-2 is being replaced.", now, name=NAME
        )
    )


def _silence(now: datetime) -> Callable[[Lease, RunRecord], Made] | None:
    if not _open_alerts("accounting", "restart.loop").exists():
        return None
    matchers = parse_lines(f'cluster="{PREFIX}accounting"\nrule="restart.loop"')
    until = now + SILENCED_FOR
    return lambda _lease, _record: bool(
        actions.silence(
            matchers, now, until, "Hosts are replaced one by one today.", None, now, name=NAME
        )
    )


def _report(now: datetime) -> Callable[[Lease, RunRecord], Made] | None:
    alert = _open_alerts("web", "checkpoint.expired").first()
    if alert is None:
        return None
    scope = checked([JobKey(alert.cluster, alert.job_id)], now - REPORTED, now)
    title = "Checkpoints of clickstream-sessions expired"
    return lambda _lease, _record: bool(
        report_orders.request_report(
            scope, user=None, name=NAME, at=now, title=title, from_alert=alert.uid
        )
    )


_STEPS: dict[str, Step] = {
    "acknowledgement": _acknowledgement,
    "silence": _silence,
    "report": _report,
    "audits": _audits,
    "plan": _plan,
}


def _open_alerts(cluster: str, rule: str) -> "QuerySet[Alert]":
    alerts: QuerySet[Alert] = Alert.objects.filter(
        cluster=PREFIX + cluster, rule=rule, state__in=OPEN, acknowledged_at=None
    )
    return alerts


def _remaining_steps() -> dict[str, Step]:
    made = _made_steps()
    return {name: step for name, step in _STEPS.items() if name not in made}


def _made_steps() -> list[str]:
    with suppress(OSError, ValueError):
        noted = json.loads(_noted_in().read_text())
        return noted if isinstance(noted, list) else []
    return []


def _note(name: str) -> None:
    draft = _noted_in().with_suffix(".new")
    draft.write_text(json.dumps([*_made_steps(), name]))
    draft.replace(_noted_in())


def _noted_in() -> Path:
    return demo.folder() / "tour.json"
