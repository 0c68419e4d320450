"""The summary of an incident for people on call: its cost, and its findings, one per rule, subject
and job.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q, Sum
from django.utils.translation import gettext, ngettext

from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.querysets import outcome_counts
from webapp.findings.job_attempts import attempts_of
from webapp.findings.presentation import PresentedFinding, present, with_known_bugs
from webapp.fleet.attempts import Job
from webapp.fleet.models import OVER, RESTARTS_OF_MARK, JobAnnotation, JobCurrent
from webapp.incidents.members import Member
from webapp.incidents.models import Incident
from webapp.lib.instants import age_text
from webapp.lib.quantities import count_text


@dataclass(frozen=True)
class Matter:
    """Findings of one rule about one subject of one job. ``member``: the incident's cause if it is
    among them, else the newest.
    """

    member: Member
    shown: PresentedFinding
    first_seen: datetime
    last_seen: datetime
    is_open: bool


def matters(members: Iterable[Member]) -> list[Matter]:
    """In the order of the members."""
    matters_by_key: dict[tuple[str, ...], Matter] = {}
    for member in members:
        row = member.finding
        key = row.identity
        matter = matters_by_key.get(key)
        if matter is None:
            matters_by_key[key] = Matter(
                member, present(row), row.first_seen, row.last_seen, present(row).is_open
            )
            continue
        stays = matter.member.is_cause or matter.member.finding.last_seen >= row.last_seen
        matters_by_key[key] = Matter(
            matter.member if stays else member,
            replace(matter.shown if stays else present(row), episodes=matter.shown.episodes + 1),
            min(matter.first_seen, row.first_seen),
            max(matter.last_seen, row.last_seen),
            matter.is_open or present(row).is_open,
        )
    return list(matters_by_key.values())


def with_bugs(matters: Sequence[Matter]) -> list[Matter]:
    """Adds the known bugs that explain the findings."""
    presented = with_known_bugs(matter.shown for matter in matters)
    return [replace(matter, shown=row) for matter, row in zip(matters, presented, strict=True)]


def jobs_of(incident: Incident, members: Sequence[Member]) -> Collection[Job]:
    """All attempts of the findings' jobs; if no finding exists any more, the attempt of the cause."""
    jobs = attempts_of(member.finding for member in members)
    return jobs or ([(incident.cluster, incident.job_id)] if incident.job_id else [])


def cost(
    jobs: Collection[Job], began_at: datetime, ended_at: datetime | None, now: datetime
) -> list[str]:
    """Sentences on what happened to these jobs during the incident. Four queries."""
    if not jobs:
        return []
    in_jobs = Q(
        cluster__in={cluster for cluster, _ in jobs}, job_id__in={job_id for _, job_id in jobs}
    )
    span = began_at, ended_at or now
    counts = outcome_counts(CheckpointFact.objects.filter(in_jobs, trigger_time__range=span))
    marks = JobAnnotation.objects.filter(in_jobs, kind="restart", at__range=span)
    restarts = marks.aggregate(restarts=Sum(RESTARTS_OF_MARK))["restarts"]
    sentences = [
        ngettext(
            "%(failed)s of %(total)s known checkpoint failed.",
            "%(failed)s of %(total)s known checkpoints failed.",
            counts["total"],
        )
        % {"failed": count_text(counts["bad"]), "total": count_text(counts["total"])}
        if counts["total"]
        else gettext("No checkpoint of this time is known.")
    ]
    if restarts:
        sentences.append(
            ngettext("%(restarts)s restart.", "%(restarts)s restarts.", restarts)
            % {"restarts": count_text(restarts)}
        )
    if ended_at is None:
        sentences += _recovery_point(in_jobs, now)
    return sentences


def _recovery_point(in_jobs: Q, now: datetime) -> list[str]:
    completed = (
        JobCurrent.objects.newest_attempts()
        .filter(in_jobs)
        .exclude(OVER)
        .order_by("last_completed_at")
    )
    oldest = (
        completed.exclude(last_completed_at=None)
        .values_list("last_completed_at", flat=True)
        .first()
    )
    if oldest is None:
        return []
    return [
        gettext("Last completed checkpoint: %(age)s; a failure now replays what came since.")
        % {"age": age_text(oldest, now)}
    ]
