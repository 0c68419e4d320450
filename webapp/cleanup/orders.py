"""Orders of people for a plan. An order is one conditional update, so two cannot both succeed."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from webapp.accounts.roles import Role, role_of
from webapp.cleanup.choices import PlanState
from webapp.cleanup.errors import PlanActionRefused
from webapp.cleanup.journal import APPLY, PURGE, UNDO
from webapp.cleanup.models import CleanupPlan
from webapp.work.models import DueWork

PREFIX = "storage/plan-"
"""The prefix before a plan's number."""
STATE_OF = {APPLY: PlanState.APPLYING, UNDO: PlanState.UNDOING, PURGE: PlanState.PURGING}
REACHED = {
    APPLY: (PlanState.QUARANTINED, PlanState.UNMOVED),
    UNDO: (PlanState.UNDONE,),
    PURGE: (PlanState.PURGED,),
}
"""Order → states after it was carried out."""
RETRY_S = 600
"""Time between two attempts at a plan."""


def key_of(plan: CleanupPlan) -> str:
    """Key of the plan's due work, below ``storage/`` so that the audit workers do it."""
    return f"{PREFIX}{plan.pk}"


def may_approve(user: Any) -> bool:
    role = role_of(user)
    return role is not None and (
        role >= Role.ADMIN or bool(user.has_perm("cleanup.approve_cleanupplan"))
    )


def approve(plan: CleanupPlan, user: Any, at: datetime, *, through: str = "page") -> None:
    """``user`` is signed in. Raises :class:`PlanActionRefused`."""
    if not may_approve(user):
        raise PlanActionRefused(
            gettext(
                "Approving a clean-up needs an administrator, or the permission to approve "
                "clean-up plans."
            )
        )
    _refuse_expired(plan, at)
    if not plan.files:
        raise PlanActionRefused(gettext("The plan holds no file: there is nothing to approve."))
    decision = {
        "approved_at": at,
        "approved_by": user,
        "approved_name": user.get_username()[:200],
        "approved_through": through[:200],
    }
    _set_state(plan, (PlanState.PLANNED,), PlanState.APPROVED, gettext("approved"), **decision)


def withdraw(plan: CleanupPlan, name: str, at: datetime) -> None:
    allowed, by = (PlanState.PLANNED, PlanState.APPROVED), {"ordered_name": name[:200]}
    _set_state(plan, allowed, PlanState.WITHDRAWN, gettext("withdrawn"), **by, finished_at=at)


def order(plan: CleanupPlan, verb: str, name: str, at: datetime) -> None:
    """``verb`` is one of ``ORDERS``. Raises :class:`PlanActionRefused`."""
    _ORDERS[verb](plan, name, at)


def start_apply(plan: CleanupPlan, name: str, at: datetime) -> None:
    if plan.approved_at is None:
        raise _refused(
            plan,
            gettext(
                "Plan %(short_name)s is not approved. Somebody who may has to approve it on its "
                "page first."
            ),
        )
    _refuse_expired(plan, at)
    allowed = (PlanState.APPROVED, PlanState.HALTED)
    _start(plan, allowed, PlanState.APPLYING, gettext("applied"), name, at)


def start_undo(plan: CleanupPlan, name: str, at: datetime) -> None:
    """Possible until the purge begins; stops an apply in progress. Raises
    :class:`PlanActionRefused`.
    """
    allowed = (PlanState.APPLYING, PlanState.HALTED, PlanState.QUARANTINED)
    _start(plan, allowed, PlanState.UNDOING, gettext("undone"), name, at)


def start_purge(plan: CleanupPlan, name: str, at: datetime) -> None:
    """Possible after the grace period. Raises :class:`PlanActionRefused`."""
    allowed = (PlanState.QUARANTINED, PlanState.HALTED)
    over_at = plan.purge_at or (plan.finished_at or at) + timedelta(seconds=plan.grace_s)
    if plan.state in allowed and at < over_at:
        raise _refused(
            plan,
            gettext(
                "Plan %(short_name)s can be undone until %(over_at)s UTC; it is purged from then "
                "on, not before."
            ),
            over_at=f"{over_at:%Y-%m-%d %H:%M}",
        )
    _start(plan, allowed, PlanState.PURGING, gettext("purged"), name, at)


_ORDERS = {APPLY: start_apply, UNDO: start_undo, PURGE: start_purge, "withdraw": withdraw}
ORDERS = tuple(_ORDERS)


def wake(plan: CleanupPlan, at: datetime) -> None:
    DueWork.objects.make_due(key_of(plan), RETRY_S, at)


def _start(
    plan: CleanupPlan, allowed: Collection[str], state: str, word: str, name: str, at: datetime
) -> None:
    with transaction.atomic():
        _set_state(
            plan,
            allowed,
            state,
            word,
            ordered_name=name[:200],
            started_at=at,
            finished_at=None,
            trouble="",
        )
        wake(plan, at)


def _set_state(
    plan: CleanupPlan, allowed: Collection[str], state: str, word: str, **fields: Any
) -> None:
    if not CleanupPlan.objects.filter(pk=plan.pk, state__in=allowed).update(state=state, **fields):
        plan.refresh_from_db()
        raise _refused(
            plan,
            gettext("Plan %(short_name)s cannot be %(word)s: it is %(get_state_display)s."),
            word=word,
            get_state_display=plan.get_state_display(),
        )
    plan.refresh_from_db()


def _refuse_expired(plan: CleanupPlan, at: datetime) -> None:
    if plan.is_expired(at):
        raise _refused(
            plan,
            gettext(
                "Plan %(short_name)s expired at %(expires_at)s UTC. Make a new one: much has "
                "changed since."
            ),
            expires_at=f"{plan.expires_at:%Y-%m-%d %H:%M}",
        )


def _refused(plan: CleanupPlan, text: str, **values: str) -> PlanActionRefused:
    return PlanActionRefused(text % {"short_name": plan.short_name, **values})
