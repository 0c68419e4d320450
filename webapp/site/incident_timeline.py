"""What happened in and around an incident, in order: findings, alerts, notices, what people did,
checkpoints, restarts, exceptions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.utils.translation import gettext

from spark_jobs.serving import FAILED_OUTCOMES
from webapp.alerting.choices import Happened
from webapp.alerting.incident_actions import LABEL
from webapp.alerting.models import AlertEvent, Silence
from webapp.alerting.story_texts import story_words
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.reasons import in_words
from webapp.findings.job_attempts import attempts_of
from webapp.fleet.models import JobAnnotation, JobException
from webapp.incidents.members import Member
from webapp.incidents.models import Incident
from webapp.lib.instants import instant_text
from webapp.lib.matchers import as_entered
from webapp.lib.messages.rendering import localised
from webapp.lib.timeranges import TimeRange
from webapp.reports.document import Moment

MOST_OF_A_KIND = 500
MOST_MOMENTS = 300
MOST_SILENCES = 500
SEVERE = {"critical": "crit", "warning": "warn"}
_MARKS = {"restart": "warn", "failure": "crit", "taskmanager_lost": "crit"}
_EVENTS = {
    Happened.FIRED: ("alert", "crit"),
    Happened.FIRED_AGAIN: ("alert", "crit"),
    Happened.RESOLVED: ("alert", "ok"),
    Happened.NOTIFIED: ("notice", "done"),
}
_RANK = {"crit": 3, "warn": 2, "ok": 1, "done": 1}


@dataclass(frozen=True)
class IncidentTimeline:
    """Newest last; ``left_out`` of the least important did not fit."""

    moments: tuple[Moment, ...]
    left_out: int = 0


def timeline(
    incident: Incident, members: Sequence[Member], time_range: TimeRange
) -> IncidentTimeline:
    """Of the jobs of these findings. Seven queries, each bounded."""
    jobs = attempts_of(member.finding for member in members)
    span = time_range.from_time, time_range.to_time
    moments = [
        *_findings(members),
        *_alerts(incident, span),
        *_silences(incident),
        *_checkpoints(jobs, span),
        *_annotations(jobs, span),
        *_exceptions(jobs, span),
    ]
    within = [
        moment
        for moment in moments
        if moment.at <= span[1] and (moment.until or moment.at) >= span[0]
    ]
    kept = sorted(within, key=lambda moment: -_RANK.get(moment.tone, 0))[:MOST_MOMENTS]
    return IncidentTimeline(
        tuple(sorted(kept, key=lambda moment: (moment.at, moment.title))), len(within) - len(kept)
    )


def _of_jobs(rows: Any, jobs: dict[tuple[str, str], str]) -> Any:
    """All findings of an incident are of one cluster."""
    return rows.filter(
        cluster__in={cluster for cluster, _ in jobs}, job_id__in={job_id for _, job_id in jobs}
    )


def _findings(members: Iterable[Member]) -> Iterator[Moment]:
    for member in members:
        finding = member.finding
        detail = (
            gettext("The cause.")
            if member.is_cause
            else gettext("Follows from %(from_rules)s.")
            % {"from_rules": gettext(", ").join(member.from_rules)}
            if member.from_rules
            else ""
        )
        name = finding.job_name or finding.job_id
        yield Moment(
            finding.first_seen,
            "finding",
            SEVERE.get(finding.severity, "done"),
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
        kind=Happened.PENDING
    )
    read = rows.order_by("-id").values_list(
        *("at", "kind", "who", "comment"),
        *("alert__title", "alert__severity", "alert__job_name"),
    )
    events = list(read[:MOST_OF_A_KIND])
    # One notice, one acknowledgement of several alerts is one line.
    by_act = groupby(sorted(events, key=lambda row: row[:4]), key=lambda row: row[:4])
    for (at, kind, who, comment), group in by_act:
        alike = list(group)
        of_kind, tone = _EVENTS.get(Happened(kind), ("alert", "done"))
        *_, stored, severity, job_name = alike[0]
        if tone == "crit":
            tone = SEVERE.get(severity, "warn")
        first = localised(stored)
        title = (
            first
            if len(alike) == 1
            else gettext("%(number)s alerts, first %(alike)s")
            % {"number": len(alike), "alike": first}
        )
        did = _capital(gettext(str(Happened(kind).label)))
        form = gettext("%(did)s by %(who)s: %(title)s") if who else gettext("%(did)s: %(title)s")
        words = form % {"did": did, "who": who, "title": title}
        yield Moment(
            at,
            of_kind,
            tone,
            words,
            story_words(kind, comment),
            job_name=job_name or "" if len(alike) == 1 else "",
        )


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _silences(incident: Incident) -> Iterator[Moment]:
    """Of exactly this incident; what else silenced an alert is in the alert's own history."""
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


def _checkpoints(
    jobs: dict[tuple[str, str], str], span: tuple[datetime, datetime]
) -> Iterator[Moment]:
    """Failed ones as runs, each savepoint by itself."""
    names = (
        "cluster",
        "job_id",
        "checkpoint_id",
        "trigger_time",
        "end_time",
        "outcome",
        "reason",
        "is_savepoint",
    )
    of_jobs = _of_jobs(CheckpointFact.objects.filter(trigger_time__range=span), jobs)
    failed = of_jobs.filter(outcome__in=FAILED_OUTCOMES) | of_jobs.filter(is_savepoint=True)
    rows = list(failed.order_by("-trigger_time", "-id").values(*names)[:MOST_OF_A_KIND])[::-1]
    rows.sort(key=lambda row: (row["cluster"], row["job_id"]))
    for (cluster, job_id, is_savepoint, outcome, reason), group in groupby(
        rows,
        key=lambda row: (
            row["cluster"],
            row["job_id"],
            bool(row["is_savepoint"]),
            row["outcome"],
            row["reason"],
        ),
    ):
        run, name = list(group), jobs.get((cluster, job_id), "")
        kind, tone = ("savepoint", "done") if is_savepoint else ("checkpoint", "crit")
        if outcome in FAILED_OUTCOMES:
            tone = "crit"
        first, last = run[0], run[-1]
        came_to = gettext(str(outcome).replace("_", " "))
        what = f"{_capital(gettext(kind))} {first['checkpoint_id']} {came_to}"
        if len(run) > 1:
            form = gettext("%(number)s savepoints %(outcome)s: %(first)s to %(last)s")
            if not is_savepoint:
                form = gettext("%(number)s checkpoints %(outcome)s: %(first)s to %(last)s")
            what = form % {
                "number": len(run),
                "outcome": came_to,
                "first": first["checkpoint_id"],
                "last": last["checkpoint_id"],
            }
        until = (last["end_time"] or last["trigger_time"]) if len(run) > 1 else None
        yield Moment(
            first["end_time"] or first["trigger_time"],
            kind,
            tone,
            what,
            in_words(reason, ""),
            until,
            name,
        )


def _annotations(
    jobs: dict[tuple[str, str], str], span: tuple[datetime, datetime]
) -> Iterator[Moment]:
    rows = _of_jobs(JobAnnotation.objects.filter(at__range=span).exclude(kind="savepoint"), jobs)
    for cluster, job_id, at, kind, label, subject in rows.order_by("-at", "-id").values_list(
        "cluster", "job_id", "at", "kind", "label", "subject"
    )[:MOST_OF_A_KIND]:
        words = (label or subject or kind).replace("_", " ")
        title = (
            words
            if words.lower().startswith(kind.replace("_", " "))
            else f"{kind.replace('_', ' ').capitalize()}: {words}"
        )
        yield Moment(
            at,
            kind,
            _MARKS.get(kind, "done"),
            title[:1].upper() + title[1:],
            job_name=jobs.get((cluster, job_id), ""),
        )


def _exceptions(
    jobs: dict[tuple[str, str], str], span: tuple[datetime, datetime]
) -> Iterator[Moment]:
    """Those that came one after another under one name in one task are one line."""
    rows = _of_jobs(JobException.objects.filter(ts__range=span), jobs).order_by("-ts", "-id")
    thrown = list(
        rows.values_list("cluster", "job_id", "ts", "exception_name", "task", "host")[
            :MOST_OF_A_KIND
        ]
    )[::-1]
    thrown.sort(key=lambda row: row[:2])
    for (cluster, job_id, name), group in groupby(thrown, key=lambda row: (row[0], row[1], row[3])):
        run = list(group)
        task, host = run[0][4], run[0][5]
        where = (
            gettext("%(task)s on %(host)s") % {"task": task, "host": host}
            if task and host
            else task or host or ""
        )
        title = (
            gettext("Exception %(name)s") % {"name": name}
            if len(run) == 1
            else gettext("%(number)s exceptions %(name)s") % {"number": len(run), "name": name}
        )
        yield Moment(
            run[0][2],
            "exception",
            "crit",
            title,
            where,
            run[-1][2] if len(run) > 1 else None,
            jobs.get((cluster, job_id), ""),
        )
