"""Pages of incidents: the list; one incident with its findings, time line, and actions on all its
alerts.
"""

from datetime import timedelta
from itertools import groupby
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ingest.messages import count_text
from spark_jobs.diagnosis.registry import all_rules
from webapp.accounts.guards import operators_only
from webapp.accounts.kept_choices import redirect_back
from webapp.accounts.roles import may_operate
from webapp.alerting import incident_actions
from webapp.alerting.badges import badges
from webapp.alerting.badges import state_badge as alert_badge
from webapp.alerting.models import Alert
from webapp.alerting.policies import Policies
from webapp.alerting.troubles import fold, notifications, troubles, what_resolves
from webapp.alerting.unnotified import why_no_alert, why_nobody
from webapp.findings.badges import severity_badge
from webapp.findings.list_controls import trouble_controls
from webapp.findings.models import FindingHost
from webapp.incidents.badges import state_badge
from webapp.incidents.choices import IncidentState
from webapp.incidents.filters import ANY_STATE, IncidentFilters
from webapp.incidents.members import members
from webapp.incidents.models import Incident
from webapp.lib.badges import SHAPES
from webapp.lib.instants import day_text, minute_text
from webapp.lib.keysets import page
from webapp.lib.list_pages import Control, capped_count, filter_form
from webapp.lib.refusals import refusal_as_message
from webapp.lib.timeranges import around, from_request
from webapp.lib.translations import gettext_lazy as _
from webapp.reports.moments import Moment
from webapp.site.incident_summary import cost, jobs_of, matters, with_bugs
from webapp.site.incident_timeline import timeline

PAGE_SIZE = 30
MOST_ALERTS, MOST_NOTIFIED = 100, 1_000
MOST_HOSTS = 12
MATTERS_SHOWN, ALERTS_SHOWN = 8, 8
FIRST_MOMENTS, LAST_MOMENTS = 6, 12
"""The first and the last events of an incident; events in between are folded."""
MARGIN = timedelta(minutes=10)
"""Shown before and after an incident: its causes came before."""
STATES = {
    IncidentState.OPEN: _("open"),
    IncidentState.CLOSED: _("closed"),
    ANY_STATE: _("open and closed"),
}
SILENCES_H = (1, 4, 24)


@require_GET
def incidents(request: HttpRequest) -> HttpResponse:
    filters = IncidentFilters.from_page(request.GET, Incident.objects.listed())
    listed = page(
        filters.qs.select_related("cause"), filters.keys, request.GET.get("cursor", ""), PAGE_SIZE
    )
    state = filters.values.get("state", "")
    list_alerts = Alert.objects.filter(incident__in=[row.uid for row in listed.rows])
    worst = list(fold(list_alerts).defer("cause", "next_step", "fired"))
    by_alert = troubles(worst, list_alerts, timezone.now())
    troubles_of = {alert.incident_id: by_alert[alert.pk] for alert in worst}
    context: dict[str, Any] = {
        "filters": filters,
        "state": state,
        "state_words": STATES.get(state, ""),
        "filter_form": filter_form(
            request,
            filters,
            Control("state", "State", list(STATES.items())),
            *trouble_controls(request.user.get_username()),
        ),
        "page": listed,
        "rows": [
            (row, state_badge(row), severity_badge(row.severity), troubles_of.get(row.uid))
            for row in listed.rows
        ],
        "matching": capped_count(filters.qs),
    }
    return render(request, "incidents/incidents.html", context)


@require_GET
def incident(request: HttpRequest, uid: str) -> HttpResponse:
    row = get_object_or_404(Incident.objects.select_related("merged_into", "cause"), uid=uid)
    if row.merged_into is not None:
        return redirect("incident", row.merged_into.uid)
    now = timezone.now()
    end = max(row.ended_at or now if row.is_open else row.last_seen, row.last_seen)
    duration = around(row.began_at, end, MARGIN, chosen=False)
    time_range = from_request(request, now, duration)
    incident_members = members(row)
    all_alerts = Alert.objects.filter(incident__uid=row.uid)
    alerts = all_alerts.with_names().order_by("-severity_rank", "starts_at", "id").defer("fired")
    alert_rows = [
        (alert, alert_badge(alert), badges(alert))
        for alert in sorted(alerts[:MOST_ALERTS], key=lambda alert: not alert.is_open)
    ]
    worst = alert_rows[0][0] if alert_rows else None
    story = timeline(row, incident_members, time_range)
    moments, all_matters = list(story.moments), matters(incident_members)
    is_long = len(moments) > FIRST_MOMENTS + LAST_MOMENTS + 1
    matters_first = with_bugs(all_matters[:MATTERS_SHOWN])
    named_hosts = FindingHost.objects.filter(
        finding__in=[member.finding.pk for member in incident_members]
    )
    uids = all_alerts.order_by("-pk").values_list("uid", flat=True)[:MOST_NOTIFIED]
    receivers = notifications(dict.fromkeys(uids, row.uid)).get(row.uid, [])
    unnotified = None
    if not receivers and alert_rows:
        unnotified = why_nobody([alert for alert, _, _ in alert_rows], now)
    elif not receivers:
        unnotified = why_no_alert([member.finding for member in incident_members])
    context: dict[str, Any] = {
        "incident": row,
        "state": state_badge(row),
        "severity": severity_badge(row.severity),
        "cause": next((matter.shown for matter in matters_first if matter.member.is_cause), None),
        "cost": cost(
            jobs_of(row, incident_members),
            row.began_at,
            None if row.is_open else row.ended_at or row.last_seen,
            now,
        ),
        "receivers": receivers,
        "unnotified": unnotified,
        "matters_first": matters_first,
        "more_matters": all_matters[MATTERS_SHOWN:],
        "hosts": named_hosts.order_by("host")
        .values_list("host", flat=True)
        .distinct()[: MOST_HOSTS + 1],
        "newest": len(incident_members),
        "alerts": alert_rows[:ALERTS_SHOWN],
        "more_alerts": alert_rows[ALERTS_SHOWN:],
        "time_range": time_range,
        "range_query": time_range.query if time_range.chosen else "",
        "at_that_time": duration,
        "days": _by_day(moments[:FIRST_MOMENTS] if is_long else moments),
        "folded": _by_day(moments[FIRST_MOMENTS:-LAST_MOMENTS]) if is_long else [],
        "folded_count": len(moments) - FIRST_MOMENTS - LAST_MOMENTS,
        "last_days": _by_day(moments[-LAST_MOMENTS:]) if is_long else [],
        "left_out": story.left_out,
        "several_jobs": row.job_count > 1,
        "silences_h": SILENCES_H,
        "resolves": what_resolves(worst, Policies()) if worst and worst.is_open else "",
        "people": incident_actions.people(row) if row.is_open and may_operate(request.user) else (),
        "rules": all_rules(),
    }
    return render(request, "incidents/incident.html", context)


def _by_day(moments: list[Moment]) -> list[tuple[str, list[tuple[Moment, str]]]]:
    return [
        (day, [(moment, SHAPES.get(moment.tone, "■")) for moment in of_day])
        for day, of_day in groupby(moments, key=lambda moment: day_text(moment.at))
    ]


@operators_only
@require_POST
def acknowledge(request: HttpRequest, uid: str) -> HttpResponse:
    """Acknowledge the incident; with ``take_back``, take the acknowledgement back."""
    row, now = get_object_or_404(Incident, uid=uid), timezone.now()
    with refusal_as_message(request):
        if "take_back" in request.POST:
            incident_actions.take_back(row, request.user, now)
            messages.success(request, gettext("The incident is waiting for somebody again."))
        else:
            alert_count = incident_actions.acknowledge(
                row, request.user, request.POST.get("comment", ""), now
            )
            messages.success(
                request,
                gettext(
                    "Acknowledged in your name, with %(alert)s; what joins it is acknowledged too, "
                    "unless it is worse."
                )
                % {"alert": count_text(alert_count, "alert")},
            )
    return redirect("incident", uid)


@operators_only
@require_POST
def assign(request: HttpRequest, uid: str) -> HttpResponse:
    """An empty ``owner`` stands for nobody."""
    row = get_object_or_404(Incident, uid=uid)
    owner = request.POST.get("owner", "").replace("\x00", "")
    with refusal_as_message(request):
        incident_actions.assign(row, owner, request.user, timezone.now())
        messages.success(
            request,
            gettext("%(owner)s works on it now.") % {"owner": owner}
            if owner
            else gettext("Nobody works on it now."),
        )
    return redirect_back(request)


@operators_only
@require_POST
def silence(request: HttpRequest, uid: str) -> HttpResponse:
    row = get_object_or_404(Incident, uid=uid)
    chosen = request.POST.get("hours", "")
    hours = next((hours for hours in SILENCES_H if chosen == str(hours)), SILENCES_H[0])
    with refusal_as_message(request):
        new_silence = incident_actions.silence(
            row,
            timedelta(hours=hours),
            request.POST.get("reason", ""),
            request.user,
            timezone.now(),
        )
        messages.success(
            request,
            gettext(
                "Silenced until %(ends_at)s, with what joins it. What still fires then is sent."
            )
            % {"ends_at": minute_text(new_silence.ends_at)},
        )
    return redirect("incident", uid)
