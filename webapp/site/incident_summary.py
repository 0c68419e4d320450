"""The summary of an incident for people on call: its cost, who was notified, and each matter once."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Q, Sum
from django.utils.translation import gettext, ngettext

from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.querysets import outcome_counts
from webapp.findings.job_attempts import attempts_of
from webapp.findings.presentation import PresentedFinding, shown, with_known_bugs
from webapp.fleet.attempts import Job
from webapp.fleet.models import OVER, RESTARTS_OF_MARK, JobAnnotation, JobCurrent
from webapp.incidents.members import Member
from webapp.incidents.models import Incident
from webapp.lib.instants import age_text
from webapp.lib.quantities import count_text


@dataclass(frozen=True)
class Matter:
    """Findings of one rule about one subject of one job, represented by the incident's cause or the
    newest.
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
        known = matters_by_key.get(key)
        if known is None:
            matters_by_key[key] = Matter(
                member, shown(row), row.first_seen, row.last_seen, shown(row).is_open
            )
            continue
        stays = known.member.is_cause or known.member.finding.last_seen >= row.last_seen
        matters_by_key[key] = Matter(
            known.member if stays else member,
            replace(known.shown if stays else shown(row), episodes=known.shown.episodes + 1),
            min(known.first_seen, row.first_seen),
            max(known.last_seen, row.last_seen),
            known.is_open or shown(row).is_open,
        )
    return list(matters_by_key.values())


def with_bugs(shown: Sequence[Matter]) -> list[Matter]:
    """With the known bugs that explain them."""
    known = with_known_bugs(matter.shown for matter in shown)
    return [replace(matter, shown=bugs) for matter, bugs in zip(shown, known, strict=True)]


def jobs_of(incident: Incident, members: Sequence[Member]) -> Collection[Job]:
    """All attempts of the jobs of its findings; where these were taken back, that of its cause."""
    known = attempts_of(member.finding for member in members)
    return known or ([(incident.cluster, incident.job_id)] if incident.job_id else [])


def cost(
    jobs: Collection[Job], began_at: datetime, ended_at: datetime | None, now: datetime
) -> list[str]:
    """Sentences on its jobs from its beginning to its end; four queries, without jobs that no
    longer exist.
    """
    if not jobs:
        return []
    of_jobs = Q(
        cluster__in={cluster for cluster, _ in jobs}, job_id__in={job_id for _, job_id in jobs}
    )
    span = began_at, ended_at or now
    counted = outcome_counts(CheckpointFact.objects.filter(of_jobs, trigger_time__range=span))
    marks = JobAnnotation.objects.filter(of_jobs, kind="restart", at__range=span)
    restarts = marks.aggregate(restarts=Sum(RESTARTS_OF_MARK))["restarts"]
    sentences = [
        ngettext(
            "%(failed)s of %(total)s known checkpoint failed.",
            "%(failed)s of %(total)s known checkpoints failed.",
            counted["total"],
        )
        % {"failed": count_text(counted["bad"]), "total": count_text(counted["total"])}
        if counted["total"]
        else gettext("No checkpoint of this time is known.")
    ]
    if restarts:
        sentences.append(
            ngettext("%(restarts)s restart.", "%(restarts)s restarts.", restarts)
            % {"restarts": count_text(restarts)}
        )
    if ended_at is None:
        sentences += _recovery_point(of_jobs, now)
    return sentences


def _recovery_point(of_jobs: Q, now: datetime) -> list[str]:
    completed = (
        JobCurrent.objects.newest_attempts()
        .filter(of_jobs)
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
