from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Least
from django.utils.translation import gettext

from webapp.alerting import evaluation_hint
from webapp.alerting.choices import EventKind
from webapp.alerting.models import Alert, AlertEvent, Silence
from webapp.alerting.models.alert import NOT_ACKNOWLEDGED
from webapp.lib.labels import accept_every_alert
from webapp.lib.matchers import Matcher
from webapp.lib.refusals import ActionRefused, InputRefused

LONGEST_COMMENT = 4_000
LONGEST_SILENCE = timedelta(days=90)
AT_ONCE = 500


def acknowledge(uids: Collection[str], user: Any, comment: str, now: datetime) -> int:
    """Acknowledged alerts are notified again only when they get worse or are resolved. Returns how
    many were not acknowledged before.
    """
    comment, name = clean(comment), user.get_username()[:200]
    with transaction.atomic():
        pks = _lock_open(uids, acknowledged=False)
        alert_count = Alert.objects.filter(pk__in=pks, acknowledged_at__isnull=True).update(
            acknowledged_name=name,
            acknowledged_at=now,
            acknowledge_comment=comment,
            notified_rank=Least(F("notified_rank"), F("severity_rank")),
            milder_since=None,
        )
        add_events(pks, EventKind.ACKNOWLEDGED, name, comment, now)
    return alert_count


def take_back(uids: Collection[str], user: Any, now: datetime) -> int:
    name = user.get_username()[:200]
    with transaction.atomic():
        pks = _lock_open(uids, acknowledged=True)
        alert_count = Alert.objects.filter(pk__in=pks).update(**NOT_ACKNOWLEDGED)
        add_events(pks, EventKind.TAKEN_BACK, name, "", now)
    return alert_count


def silence(
    matchers: Sequence[Matcher],
    starts_at: datetime,
    ends_at: datetime,
    reason: str,
    user: Any,
    now: datetime,
) -> Silence:
    text = clean(reason)
    if not matchers:
        raise InputRefused(
            gettext(
                "Give at least one matcher: a silence of everything would hide all that happens."
            )
        )
    if accept_every_alert(matchers):
        # For example, clutser!="test", or team="" if no cluster has a team.
        raise InputRefused(
            gettext(
                "These matchers accept all that lacks the label %(label)s, which may be everything; "
                "add one that names a cluster, a job or a rule."
            )
            % {"label": matchers[0].label}
        )
    if not text:
        raise InputRefused(gettext("Give a reason: it is shown with the alert."))
    if ends_at <= max(starts_at, now):
        raise InputRefused(gettext("A silence has to end after it begins, and in the future."))
    if ends_at - starts_at > LONGEST_SILENCE:
        raise InputRefused(
            gettext("A silence lasts %(days)s days at most.") % {"days": LONGEST_SILENCE.days}
        )
    with transaction.atomic():
        silence = Silence.objects.create(
            matchers=[matcher.as_json() for matcher in matchers],
            starts_at=starts_at,
            ends_at=ends_at,
            reason=text,
            author_name=user.get_username()[:200],
            created_at=now,
        )
        evaluation_hint.wake()
    return silence


def end_silence(silence: Silence, user: Any, now: datetime) -> None:
    with transaction.atomic():
        not_ended = Silence.objects.filter(pk=silence.pk, ends_at__gt=now)
        if not not_ended.update(ends_at=now, ended_name=user.get_username()[:200]):
            raise ActionRefused(gettext("This silence is over already."))
        evaluation_hint.wake()
    silence.refresh_from_db()


def clean(text: str) -> str:
    """PostgreSQL refuses NUL in texts."""
    return text.replace("\x00", "").strip()[:LONGEST_COMMENT]


def _lock_open(uids: Collection[str], *, acknowledged: bool) -> list[int]:
    alerts = Alert.objects.open().filter(
        uid__in=list(uids)[:AT_ONCE], acknowledged_at__isnull=not acknowledged
    )
    return list(alerts.select_for_update().values_list("pk", flat=True))


def add_events(pks: Collection[int], kind: str, who: str, comment: str, now: datetime) -> None:
    AlertEvent.objects.bulk_create(
        [AlertEvent(alert_id=pk, at=now, kind=kind, who=who, comment=comment) for pk in pks],
        batch_size=AT_ONCE,
    )
