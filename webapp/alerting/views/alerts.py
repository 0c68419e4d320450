from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from typing import Any, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from spark_jobs.diagnosis.finding_hosts import hosts_of
from spark_jobs.diagnosis.registry import all_rules
from webapp.accounts.guards import operators_only
from webapp.accounts.kept_choices import redirect_back
from webapp.accounts.roles import may_operate
from webapp.alerting import actions, incident_actions
from webapp.alerting.badges import badges, state_badge
from webapp.alerting.choices import UNREACHABLE, AlertState
from webapp.alerting.filters import ANY_STATE, OPEN_STATE, AlertFilters
from webapp.alerting.models import Alert
from webapp.alerting.models.alert import AlertEvent, AlertQuerySet
from webapp.alerting.notice_content import muted_names
from webapp.alerting.notice_preview import notice_text
from webapp.alerting.policies import Policies
from webapp.alerting.troubles import fold, troubles, what_resolves
from webapp.alerting.unnotified import why_nobody
from webapp.delivery.badges import delivery_badge, meaning
from webapp.delivery.models import Delivery
from webapp.findings.badges import CONFIDENCE_MEANS, severity_badge
from webapp.findings.figures import figures
from webapp.findings.list_controls import trouble_controls
from webapp.findings.models import Finding
from webapp.findings.runbooks import runbook
from webapp.fleet.models import JobCurrent
from webapp.incidents.models import Incident
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, capped_count, filter_form
from webapp.lib.refusals import ActionRefused
from webapp.lib.silence_links import silence_address
from webapp.lib.timeranges import around
from webapp.lib.translations import gettext_lazy as _

PAGE_SIZE = 25
MOST_EVENTS = 200
MOST_DELIVERIES = 50
STATES = {
    OPEN_STATE: _("open"),
    AlertState.FIRING: _("firing"),
    AlertState.PENDING: _("pending"),
    AlertState.RESOLVED: _("resolved"),
    ANY_STATE: _("open and resolved"),
}


@require_GET
def alerts(request: HttpRequest) -> HttpResponse:
    filters = AlertFilters.from_page(request.GET, Alert.objects.all())
    state = filters.values.get("state", "")
    is_folded = state not in (AlertState.RESOLVED, ANY_STATE)
    matching = cast(AlertQuerySet, fold(filters.qs) if is_folded else filters.qs)
    rows = matching.with_names().defer("fired")
    listed = page(rows, filters.keys, request.GET.get("cursor", ""), PAGE_SIZE)
    trouble_by_row = troubles(listed.rows, filters.qs if is_folded else None, timezone.now())
    context: dict[str, Any] = {
        "filters": filters,
        "state": state,
        "state_words": STATES.get(state, ""),
        "filter_form": filter_form(
            request,
            filters,
            Control("state", "State", list(STATES.items())),
            *trouble_controls(request.user.get_username()),
            Control(
                "silenced", "Muted", (("", "Muted or not"), ("no", "not muted"), ("yes", "muted"))
            ),
        ),
        "page": listed,
        "rows": [
            (
                row,
                state_badge(row),
                severity_badge(row.severity),
                badges(row),
                trouble_by_row[row.pk],
            )
            for row in listed.rows
        ],
        "is_folded": is_folded,
        "matching": capped_count(matching),
        "alert_count": capped_count(filters.qs) if is_folded else None,
    }
    return render(request, "alerting/alerts.html", context)


@require_GET
def alert(request: HttpRequest, uid: str) -> HttpResponse:
    row = get_object_or_404(
        Alert.objects.with_all_names().select_related("group", "silence", "inhibited_by"),
        uid=uid,
    )
    return render(request, "alerting/alert.html", _context(request, row))


@operators_only
@require_POST
def acknowledge(request: HttpRequest) -> HttpResponse:
    """Acknowledge the ticked alerts, or ``only`` one, or take acknowledgements back."""
    only = request.POST.get("only")
    chosen_uids = [only] if only else request.POST.getlist("uid")
    uids = [uid[:40].replace("\x00", "") for uid in chosen_uids[: actions.AT_ONCE]]
    now = timezone.now()
    user, comment = request.user, request.POST.get("comment", "")
    if not uids:
        messages.warning(request, gettext("No alert was chosen."))
    elif "take_back" in request.POST:
        actions.take_back(uids, user, now)
    else:
        # A row may be an incident, whose later alerts are acknowledged, too.
        alert_count = (
            _acknowledge_incidents(uids, user, comment, now) if "troubles" in request.POST else 0
        )
        alert_count += actions.acknowledge(uids, user, comment, now)
        if not alert_count:
            messages.warning(
                request, gettext("Nothing to acknowledge: somebody was quicker, or it is resolved.")
            )
    return redirect_back(request, reverse("alerts"))


def _acknowledge_incidents(uids: list[str], user: Any, comment: str, now: datetime) -> int:
    alert_count = 0
    for incident in Incident.objects.open().filter(alerts__uid__in=uids).distinct():
        with suppress(ActionRefused):
            alert_count += incident_actions.acknowledge(incident, user, comment, now)
    return alert_count


def _story(events: Iterable[AlertEvent]) -> list[tuple[AlertEvent, int]]:
    """Each event, and how often it stands there in a row."""
    alike = groupby(events, key=lambda event: (event.kind, event.who, event.comment))
    return [(repeats[0], len(repeats)) for _key, group in alike if (repeats := list(group))]


def _context(request: HttpRequest, row: Alert) -> dict[str, Any]:
    now = timezone.now()
    finding = (
        Finding.objects.filter(pk=row.finding_id or 0)
        .only("id", "title", "cause", "next_step", "evidence", "state", "data", "related")
        .first()
    )
    texts: Any = finding if finding and row.is_open else row
    rule = all_rules().get(row.rule)
    job = (
        JobCurrent.objects.filter(cluster=row.cluster, job_id=row.job_id)
        .only("cluster", "job_id", "name")
        .first()
    )
    newest_deliveries = (
        Delivery.objects.filter(alerts__alert_uid=row.uid)
        .select_related("endpoint")
        .defer("payload")
        .order_by("-id")
    )
    deliveries = list(newest_deliveries[:MOST_DELIVERIES])
    muting = [row.pk] if row.rule == UNREACHABLE else []
    muted_count, muted = muted_names(muting).get(row.pk, (0, ()))
    until = row.ends_at or now
    incident = Incident.objects.filter(uid=row.incident_id or "").first()
    notice = notice_text(row, deliveries, now)
    return {
        "alert": row,
        "described": texts,
        "finding": finding,
        "rule": rule,
        "runbook": runbook(rule.id) if rule else [],
        "hosts": hosts_of(finding.data, finding.related) if finding else (),
        "job": job,
        "incident": incident,
        "people": incident_actions.people(incident)
        if incident and incident.is_open and may_operate(request.user)
        else (),
        "resolves": what_resolves(row, Policies()) if row.is_open else "",
        "notice": notice,
        "state": state_badge(row),
        "severity": severity_badge(row.severity),
        "badges": badges(row),
        "figures": figures(texts.evidence),
        "confidence_means": CONFIDENCE_MEANS.get(row.confidence, ""),
        "events": _story(row.events.order_by("-at", "-id")[:MOST_EVENTS]),
        "deliveries": [
            (delivery, delivery_badge(delivery), meaning(delivery.last_error))
            for delivery in deliveries
        ],
        "unnotified": None if deliveries else why_nobody([row], now),
        "muted_count": muted_count,
        "muted": muted,
        "muted_until": row.silence and row.silence.ends_at,
        "silence_url": silence_address(
            row.cluster,
            row.job_name,
            row.job_id,
            row.rule,
            row.subject,
        ),
        "at_that_time": around(row.starts_at, max(until, row.starts_at)),
    }
