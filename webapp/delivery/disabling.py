"""Giving an endpoint up, and telling its owner."""

from datetime import datetime

from django.conf import settings

from webapp.delivery import mail, outbox
from webapp.delivery.models import Endpoint
from webapp.delivery.notices import FIRING, AlertTold, NoticeTold
from webapp.lib.uids import new_uid


def disable(pk: int, reason: str, now: datetime) -> bool:
    """No further delivery is made or tried; its owner hears of it by mail. Only the first call does anything."""
    if not Endpoint.objects.filter(pk=pk, enabled=True).update(enabled=False, disabled_at=now, disabled_reason=reason[:1000]):
        return False
    endpoint = Endpoint.objects.get(pk=pk)
    if endpoint.owner_email and mail.is_configured():
        outbox.queue_for(_news(endpoint, reason, now), endpoint, mail_to=endpoint.owner_email)
    return True


def _news(endpoint: Endpoint, reason: str, now: datetime) -> NoticeTold:
    told = AlertTold(
        uid=f"endpoint-{endpoint.pk}",
        fingerprint=f"endpoint-{endpoint.pk}",
        status=FIRING,
        rule="delivery.disabled",
        family="delivery",
        severity="warning",
        confidence="high",
        cluster="",
        job_id="",
        job_name="",
        subject_kind="endpoint",
        subject=endpoint.name,
        title=f"Weir no longer sends alerts to {endpoint.name}",
        cause=reason,
        next_step="Look at its last attempts, put right what they say, and enable it again. What it missed can be replayed from there.",
        starts_at=now,
        links={"alert": f"{settings.WEIR.public_url}/alerts/endpoints/{endpoint.pk}/"},
    )
    return NoticeTold(
        uid=new_uid("ntc"),
        kind="endpoint_disabled",
        group=f"delivery/{endpoint.pk}",
        cluster="",
        family="delivery",
        status=FIRING,
        alerts=(told,),
        alerts_total=1,
        firing_total=1,
        resolved_total=0,
        changed=frozenset({told.uid}),
        made_at=now,
        repeat_after_s=0,
    )
