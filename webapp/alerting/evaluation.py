"""Findings → alerts → groups → notices, at each tick and on hints. Each chunk is one transaction
under the lease: a new evaluation continues where a killed one stopped, and notifies nobody twice.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.db import transaction

from webapp.alerting import clocks, evaluation_hint, notifications
from webapp.alerting.finding_intake import changed_texts, copy_changed, take_marked
from webapp.alerting.hold_times import hold, pending_chunks
from webapp.alerting.incident_alerts import gather_unnotified
from webapp.alerting.models import AlertGroup
from webapp.alerting.muting import Mutes, affected_by, mute
from webapp.alerting.policies import Policies
from webapp.incidents.joining import forget_deleted_findings
from webapp.incidents.outline import retitle, stale_titles
from webapp.work.lease import WriteGuard
from webapp.work.models import Manifest

MOST_CHUNKS = 200
"""A chunk has 500 findings."""
LONGEST_LOAD = timedelta(seconds=60)
"""New alerts wait at most so long for a run that is being loaded, so that its findings go into one
notice.
"""
SOON = timedelta(seconds=20)
"""Groups that are due within this time do not wait for the next tick."""


@dataclass(frozen=True)
class Evaluated:
    """Counts of ``taken`` findings, of alerts whose waiting ended or changed (``held``), of alerts that
    were ``muted`` or unmuted, and of notices.
    """

    taken: int = 0
    held: int = 0
    muted: int = 0
    notices: int = 0

    def counts(self) -> dict[str, int]:
        return {name: count for name, count in asdict(self).items() if count}


def evaluate(now: datetime, lease: WriteGuard | None = None) -> Evaluated:
    writing: Callable[[], AbstractContextManager[None]]
    writing = lease.writing if lease else transaction.atomic
    policies = Policies()
    taken = held = muted = notices = 0
    for _chunk in range(MOST_CHUNKS):
        with writing():
            chunk = take_marked(policies, now)
        taken += chunk
        if not chunk:
            break
    for pks in changed_texts():
        with writing():
            copy_changed(pks)
    if stale := stale_titles():
        with writing():
            retitle(stale)
    if clocks.any_ahead(now):
        with writing():
            clocks.mend(now)
    for pks in pending_chunks(now):
        with writing():
            held += hold(pks, policies, now)
    mutes = Mutes(now)
    for pks in affected_by(mutes):
        with writing():
            muted += mute(pks, mutes, now)
    with writing():
        forget_deleted_findings()
        gather_unnotified()
    with writing():
        groups = notifications.plan(now)
    recent = {"created_at__gte": now - LONGEST_LOAD}
    is_loading = Manifest.objects.filter(state=Manifest.State.WRITTEN, **recent).exists()
    for group in groups:
        if not group.is_due(now):
            continue
        if not is_loading or not group.alerts.to_notify().filter(**recent).exists():
            with writing():
                notices += notifications.notify(group, now)
    for group in notifications.to_repeat(now):
        with writing():
            notices += notifications.repeat(group, now)
    _hint_next(now)
    return Evaluated(taken, held, muted, notices)


def _hint_next(now: datetime) -> None:
    due = (
        AlertGroup.objects.filter(next_due_at__gt=now, next_due_at__lte=now + SOON)
        .order_by("next_due_at")
        .first()
    )
    if due is not None and due.next_due_at is not None:
        evaluation_hint.hint(due.next_due_at - now)
