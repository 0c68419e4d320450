"""Alertmanager's API v2: the alerts of the notice, so that an existing Alertmanager groups and
routes them.

It forgets an alert at its ``endsAt``; that of a firing one lies beyond the next repeat, which moves
it on.
"""

import base64
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from webapp.delivery.formats.base import JSON, Addressee, Format, Outgoing, json_body
from webapp.delivery.formats.texts import cut, line
from webapp.delivery.notices import FIRING, Notice, NoticeAlert
from webapp.lib.translations import gettext_lazy as _

PATH = "/api/v2/alerts"
WITHOUT_REPEAT = timedelta(hours=24)
LONGEST_LABEL, LONGEST_ANNOTATION = 500, 4_000
_SEVERITIES = ("info", "warning", "critical")
_NO_LABEL = re.compile(r"[^A-Za-z0-9_]")


def render(notice: Notice, to: Addressee, at: datetime) -> Outgoing:
    base = to.url.partition("?")[0].rstrip("/")
    url = base if base.endswith(PATH) else base + PATH
    return Outgoing(url, json_body(list(_alerts(notice, at))), {**JSON, **_sign_in(to.credential)})


def _alerts(notice: Notice, at: datetime) -> Iterator[dict[str, Any]]:
    stays = (
        2 * timedelta(seconds=notice.repeat_after_s) if notice.repeat_after_s else WITHOUT_REPEAT
    )
    for alert in notice.alerts:
        firing = alert.status == FIRING
        starts = min(alert.starts_at, at - timedelta(seconds=1))
        ends = (
            at + stays
            if firing
            else max(min(alert.ends_at or at, at), starts + timedelta(milliseconds=1))
        )
        yield _entry(alert, alert.severity, starts, ends)
        if firing and notice.kind == "changed" and alert.uid in notice.changed:
            # The severity is a label and so part of the identity there: the alert of the former one
            # has to end.
            for other in _SEVERITIES:
                if other != alert.severity:
                    yield _entry(alert, other, starts, at)


def _entry(alert: NoticeAlert, severity: str, starts: datetime, ends: datetime) -> dict[str, Any]:
    labels = {
        **{_NO_LABEL.sub("_", name)[:64] or "_": value for name, value in alert.labels.items()},
        "alertname": alert.rule,
        "severity": severity,
        "family": alert.family,
        "cluster": alert.cluster,
        "job": alert.job_name,
        "job_id": alert.job_id,
        "subject": alert.subject,
        "subject_kind": alert.subject_kind,
        "weir_fingerprint": alert.fingerprint,
    }
    annotations = {
        "summary": line(alert.title, 500),
        "description": alert.cause,
        "next_step": alert.next_step,
        "acknowledged_by": alert.acknowledged_by or "",
        **{
            f"{name}_url": address
            for name, address in alert.links.items()
            if name in ("finding", "runbook", "job")
        },
    }
    return {
        # A label that is empty counts as missing there.
        "labels": {name: line(value, LONGEST_LABEL) for name, value in labels.items() if value},
        "annotations": {
            name: cut(value, LONGEST_ANNOTATION) for name, value in annotations.items() if value
        },
        "startsAt": _iso(starts),
        "endsAt": _iso(ends),
        **({"generatorURL": alert.links["alert"]} if alert.links.get("alert") else {}),
    }


def _sign_in(credential: str) -> dict[str, str]:
    """``user:password``, or a bearer token."""
    if not credential:
        return {}
    if ":" in credential:
        return {"authorization": "Basic " + base64.b64encode(credential.encode()).decode()}
    return {"authorization": f"Bearer {credential}"}


def _iso(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


FORMAT = Format(
    "alertmanager",
    render,
    for_machines=True,
    keeps_state="alert",
    credential=_("Sign-in (user:password, or a bearer token)"),
    url_help=f"of the Alertmanager; {PATH} is added",
)
