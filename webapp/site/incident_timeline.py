"""Events in and around an incident, in order: findings, alerts, notices, people's actions,
checkpoints, restarts, exceptions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from django.utils.translation import gettext

from webapp.alerting.choices import EventKind
from webapp.alerting.incident_actions import LABEL
from webapp.alerting.models import AlertEvent, Silence
from webapp.alerting.story_texts import story_words
from webapp.findings.job_attempts import attempts_of
from webapp.incidents.members import Member
from webapp.incidents.models import Incident
from webapp.lib.instants import instant_text
from webapp.lib.matchers import as_entered
from webapp.lib.messages.rendering import localised
from webapp.lib.timeranges import TimeRange
from webapp.reports.moments import MOST_OF_A_KIND, TONES, Moment, most_important, of_jobs

MOST_MOMENTS = 300
MOST_SILENCES = 500
_EVENTS = {
    EventKind.FIRED: ("alert", "crit"),
    EventKind.FIRED_AGAIN: ("alert", "crit"),
    EventKind.RESOLVED: ("alert", "ok"),
    EventKind.NOTIFIED: ("notice", "done"),
}


@dataclass(frozen=True)
class IncidentTimeline:
    """``moments``: newest last; ``left_out``: number of less important ones beyond the limit."""

    moments: tuple[Moment, ...]
    left_out: int = 0


def timeline(
    incident: Incident, members: Sequence[Member], time_range: TimeRange
) -> IncidentTimeline:
    """Seven queries with limits."""
    jobs = attempts_of(member.finding for member in members)
    span = time_range.from_time, time_range.to_time
    moments = [
        *_findings(members),
        *_alerts(incident, span),
        *_silences(incident),
        *of_jobs(jobs, span),
    ]
    within = [
        moment
        for moment in moments
        if moment.at <= span[1] and (moment.until or moment.at) >= span[0]
    ]
    return IncidentTimeline(
        most_important(within, MOST_MOMENTS), max(len(within) - MOST_MOMENTS, 0)
    )


def _findings(members: Iterable[Member]) -> Iterator[Moment]:
    for member in members:
        finding = member.finding
        detail = ""
        if member.is_cause:
            detail = gettext("The cause.")
        elif member.from_rules:
            rules = gettext(", ").join(member.from_rules)
            detail = gettext("Follows from %(from_rules)s.") % {"from_rules": rules}
        name = finding.job_name or finding.job_id
        yield Moment(
            finding.first_seen,
            "finding",
            TONES.get(finding.severity, "done"),
            gettext("Found: %(title)s") % {"title": localised(finding.title)},
            detail,
            job_name=name,
        )
        if finding.closed_at is not None:
            yield Moment(
                finding.closed_at,
                "finding",
                "ok",
                gettext("No longer found: %(title)s") % {"title": localised(finding.title)},
                finding.rule,
                job_name=name,
            )


def _alerts(incident: Incident, span: tuple[datetime, datetime]) -> Iterator[Moment]:
    rows = AlertEvent.objects.filter(alert__incident__uid=incident.uid, at__range=span).exclude(
        kind=EventKind.PENDING
    )
    newest = rows.order_by("-id").values_list(
        *("at", "kind", "who", "comment"),
        *("alert__title", "alert__severity", "alert__job_name"),
    )
    events = list(newest[:MOST_OF_A_KIND])
    # A notice or an acknowledgement of several alerts is one line.
    by_act = groupby(sorted(events, key=lambda row: row[:4]), key=lambda row: row[:4])
    for (at, kind, who, comment), group in by_act:
        alike = list(group)
        moment_kind, tone = _EVENTS.get(EventKind(kind), ("alert", "done"))
        *_, stored_title, severity, job_name = alike[0]
        if tone == "crit":
            tone = TONES.get(severity, "warn")
        title = localised(stored_title)
        if len(alike) > 1:
            values = {"number": len(alike), "alike": title}
            title = gettext("%(number)s alerts, first %(alike)s") % values
        did = _capital(gettext(str(EventKind(kind).label)))
        form = gettext("%(did)s by %(who)s: %(title)s") if who else gettext("%(did)s: %(title)s")
        words = form % {"did": did, "who": who, "title": title}
        yield Moment(
            at,
            moment_kind,
            tone,
            words,
            story_words(kind, comment),
            job_name=job_name or "" if len(alike) == 1 else "",
        )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _silences(incident: Incident) -> Iterator[Moment]:
    for silence in Silence.objects.filter(ends_at__gte=incident.began_at).order_by("-id")[
        :MOST_SILENCES
    ]:
        if any(
            matcher.label == LABEL and matcher.value == incident.uid
            for matcher in as_entered(silence.matchers)
        ):
            title = gettext("Silenced by %(author_name)s until %(ends_at)s") % {
                "author_name": silence.author_name,
                "ends_at": instant_text(silence.ends_at),
            }
            yield Moment(silence.created_at, "silence", "done", title, silence.reason)
