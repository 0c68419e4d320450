"""Examples in the demo besides its jobs: audited storage and an unapproved clean-up plan. Each step
is done once, when its data exist.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from webapp.cleanup import orders as cleanup_orders
from webapp.cleanup import planning
from webapp.cleanup.models import CleanupPlan
from webapp.fleet import demo
from webapp.site import demo_storage
from webapp.storage.auditing import work_keys
from webapp.storage.models import AuditDoubt
from webapp.work.lease import Lease
from webapp.work.runs import RunRecord

NAME = "the demo"
"""The name under which these actions are recorded: no user does them."""
KEY = "demo/tour"

RETRY_AFTER = timedelta(minutes=1)
"""Time until the next audit, if the last one had doubts."""
MOST_AUDITS = 5
"""A live root changes while it is listed, so an audit may have doubts. After this many audits the
plan is made anyway, and says why it is empty.
"""
IsDone = bool
Step = Callable[[datetime], Callable[[Lease, RunRecord], IsDone] | None]
"""Returns the function that does the step, or None if it cannot be done now."""


def is_due() -> bool:
    return (
        settings.WEIR.demo
        and not demo.is_removed()
        and bool(_remaining_steps())
        and demo.clusters().exists()
    )


def has_work() -> bool:
    return is_due() and any(step(timezone.now()) for step in _remaining_steps().values())


def do_steps(lease: Lease, record: RunRecord) -> None:
    for name, step in _remaining_steps().items():
        do_step = step(timezone.now())
        if do_step and do_step(lease, record):
            record.say(f"{name}: made")
            _store_done(name)


def was_begun() -> bool:
    return _file().exists() or demo_storage.roots().exists()


def remove(now: datetime) -> None:
    demo_storage.remove(now)
    _file().unlink(missing_ok=True)


def _audits(now: datetime) -> Callable[[Lease, RunRecord], IsDone] | None:
    ended_at = demo_storage.past_ended_at()
    if ended_at is None:
        return None

    def audit(lease: Lease, record: RunRecord) -> IsDone:
        demo_storage.audit_the_past(ended_at, NAME, lease, record)
        return work_keys.audit_now(now)

    return audit


def _plan(now: datetime) -> Callable[[Lease, RunRecord], IsDone] | None:
    audits = demo_storage.later_audits()
    if not audits:
        return None
    has_doubts = AuditDoubt.objects.filter(audit=audits[0]).exists()
    if has_doubts and len(audits) < MOST_AUDITS:
        finished_at = audits[0].finished_at
        return _audit_again if finished_at and now - finished_at > RETRY_AFTER else None

    def plan(lease: Lease, record: RunRecord) -> IsDone:
        if not CleanupPlan.objects.filter(created_by=None, created_name=NAME).exists():
            row = planning.request_plan(
                demo_storage.PAST_ROOTS, waste=True, user=None, name=NAME, at=now
            )
            cleanup_orders.wake(row, now)
        return True

    return plan


def _audit_again(lease: Lease, record: RunRecord) -> IsDone:
    work_keys.audit_now(timezone.now())
    return False


_STEPS: dict[str, Step] = {"audits": _audits, "plan": _plan}


def _remaining_steps() -> dict[str, Step]:
    done = _done_steps()
    return {name: step for name, step in _STEPS.items() if name not in done}


def _done_steps() -> list[str]:
    with suppress(OSError, ValueError):
        names = json.loads(_file().read_text())
        return names if isinstance(names, list) else []
    return []


def _store_done(name: str) -> None:
    draft = _file().with_suffix(".new")
    draft.write_text(json.dumps([*_done_steps(), name]))
    draft.replace(_file())


def _file() -> Path:
    return demo.folder() / "tour.json"
