from datetime import datetime
from typing import Any

from django.conf import settings

from webapp.delivery.models import Endpoint
from webapp.delivery.notices import FIRING, Notice, NoticeAlert
from webapp.lib.uids import new_uid


def disabled(endpoint: Endpoint, reason: str, now: datetime) -> Notice:
    return _notice(
        endpoint,
        "endpoint_disabled",
        "delivery",
        now,
        uid=f"endpoint-{endpoint.pk}",
        fingerprint=f"endpoint-{endpoint.pk}",
        rule="delivery.disabled",
        severity="warning",
        title=f"Weir no longer sends alerts to {endpoint.name}",
        cause=reason,
        next_step=(
            "Look at its last attempts, correct what they report, and enable it again. What "
            "it missed can be replayed from there."
        ),
    )


def test(endpoint: Endpoint, name: str, now: datetime) -> Notice:
    return _notice(
        endpoint,
        "test",
        "test",
        now,
        uid=new_uid("alr"),
        fingerprint="test",
        rule="weir.test",
        severity="info",
        title=f"This is a test of {endpoint.name}",
        cause=f"{name} pressed the test button. Nothing is wrong.",
        next_step="Nothing. Where this is to be read, alerts are going to arrive.",
    )


def _notice(
    endpoint: Endpoint, kind: str, family: str, now: datetime, **alert_fields: Any
) -> Notice:
    alert = NoticeAlert(
        status=FIRING,
        family=family,
        confidence="high",
        cluster="",
        job_id="",
        job_name="",
        subject_kind="endpoint",
        subject=endpoint.name,
        starts_at=now,
        links={"alert": f"{settings.WEIR.public_url}/alerts/endpoints/{endpoint.pk}/"},
        **alert_fields,
    )
    return Notice(
        uid=new_uid("ntc"),
        kind=kind,
        group=f"{family}/{endpoint.pk}",
        cluster="",
        family=family,
        status=FIRING,
        alerts=(alert,),
        alerts_total=1,
        firing_total=1,
        resolved_total=0,
        changed=frozenset({alert.uid}),
        made_at=now,
        repeat_after_s=0,
    )
