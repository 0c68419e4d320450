"""Folds occurrences into findings. Order and repetition of loads do not matter.

1. Only episodes within the hold time of a changed occurrence are built again.
2. Only the end of a long episode is read; its beginning is taken from the finding. Occurrences are
   stored for days, findings longer.
3. A finding keeps its key, so that links stay valid, if its new episode overlaps the old one or is
   within the hold time of it: occurrences may come again a minute later, with later instants.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.rule import DEFAULT_HOLD_S
from webapp.findings import marks, named_hosts
from webapp.findings.choices import SEVERITY_RANK, FindingState, Severity
from webapp.findings.episodes import FindingEpisode, Span, closed_at, episodes
from webapp.findings.models import Finding, FindingOccurrence, JobJudgement
from webapp.findings.occurrences import Changed, Identity, Job
from webapp.findings.settling import TEXTS
from webapp.fleet.attempts import ids_by_first_attempt
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import OVER, Cluster, JobCurrent, RemovedCluster
from webapp.lib.chunks import chunks

OCCURRENCES_KEPT = timedelta(days=2)
JOBS_AT_ONCE = 50
OCCURRENCE_FIELDS = ("job_id", "job_name", *TEXTS)
FOR_EVER = datetime.max.replace(tzinfo=UTC)


def hold_of(rule: str) -> timedelta:
    """How long a finding stays open after its last occurrence; the default if the rule no longer
    exists.
    """
    definition = registry.all_rules().get(rule)
    return timedelta(seconds=definition.hold_s if definition else DEFAULT_HOLD_S)


@dataclass(frozen=True)
class Life:
    """``ended_at``: when the newest attempt of the job ended or, if earlier, its cluster was
    removed.
    """

    judged_to: datetime | None = None
    ended_at: datetime | None = None
    removed_at: datetime | None = None

    def end_of(self, rule: str) -> datetime | None:
        definition = registry.all_rules().get(rule)
        outlives_job = definition is not None and definition.outlives_job
        return self.removed_at if outlives_job else self.ended_at


def lives_of(jobs: Iterable[Job]) -> dict[Job, Life]:
    """``jobs``: (cluster, first attempt)."""
    lives: dict[Job, Life] = {}
    by_cluster: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for (cluster, first_id), ids in ids_by_first_attempt(set(jobs)).items():
        by_cluster[cluster][first_id] = ids
    for cluster, ids_by_first in by_cluster.items():
        all_ids = [job_id for ids in ids_by_first.values() for job_id in ids]
        judged = dict(
            JobJudgement.objects.filter(cluster=cluster, job_id__in=all_ids).values_list(
                "job_id", "judged_to"
            )
        )
        ended = {
            job_id: end or seen
            for job_id, end, seen in JobCurrent.objects.filter(
                OVER, cluster=cluster, job_id__in=all_ids
            ).values_list("job_id", "end_time", "as_of")
        }
        # Rows in transit when a cluster was removed must not reopen findings.
        removed_at = (
            RemovedCluster.objects.filter(name=cluster).values_list("removed_at", flat=True).first()
        )
        for first_id, ids in ids_by_first.items():
            end = ended.get(ids[-1])
            if removed_at is not None:
                end = min(end or removed_at, removed_at)
            judged_to = max((judged[job_id] for job_id in ids if job_id in judged), default=None)
            lives[cluster, first_id] = Life(judged_to, end, removed_at)
    return lives


def some_jobs_at_once(changed: Changed) -> Iterable[list[Identity]]:
    by_job: dict[Job, list[Identity]] = defaultdict(list)
    for identity in sorted(changed.spans):
        by_job[identity[:2]].append(identity)
    for jobs in chunks(by_job.values(), JOBS_AT_ONCE):
        yield [identity for identities in jobs for identity in identities]


def fold(identities: Sequence[Identity], changed: Changed, now: datetime) -> int:
    """Rebuild the findings of these identities; returns how many were saved or deleted. Call it in
    a transaction.
    """
    recordings = set(
        Cluster.objects.filter(
            kind=ClusterKind.RECORDING, name__in={identity[0] for identity in identities}
        ).values_list("name", flat=True)
    )
    purged_before = now - OCCURRENCES_KEPT
    findings = _known_findings(identities, changed)
    occurrences = _occurrences(identities, changed)
    lives = lives_of(identity[:2] for identity in identities)
    changed_rows = 0
    for identity in identities:
        hold = hold_of(identity[2])
        first, last = changed.spans[identity]
        since, until = first - hold, last + hold
        occurrences_from = since if identity[0] in recordings else max(since, purged_before)
        recent = [finding for finding in findings[identity] if finding.last_seen >= since]
        later = [finding for finding in recent if finding.first_seen > until]
        overlapped = [finding for finding in recent if finding.first_seen <= until]
        # Later episodes contain no changed occurrence, so they stay.
        spans = [
            span
            for span in occurrences[identity]
            if span.last >= since and (not later or span.first < later[0].first_seen)
        ]
        spans += [
            Span(finding.first_seen, min(finding.last_seen, occurrences_from))
            for finding in overlapped
            if finding.first_seen < occurrences_from
        ]
        finding_episodes = episodes(spans, hold)
        if finding_episodes or later:
            _close(
                [finding for finding in findings[identity] if finding.last_seen < since],
                hold,
                lives[identity[:2]],
            )
        changed_rows += _write(
            identity, overlapped, finding_episodes, hold, lives[identity[:2]], is_last=not later
        )
    return changed_rows


def _known_findings(
    identities: Sequence[Identity], changed: Changed
) -> dict[Identity, list[Finding]]:
    """Findings that may change, and earlier open ones; oldest first."""
    findings_by_identity: dict[Identity, list[Finding]] = {identity: [] for identity in identities}
    condition = Q(pk__in=[])
    for (cluster, first_id), since in _earliest_changes(identities, changed).items():
        recent = Q(last_seen__gte=since) | Q(state=FindingState.OPEN)
        condition |= Q(cluster=cluster, first_attempt_id=first_id) & recent
    for finding in Finding.objects.filter(condition).order_by("first_seen", "id"):
        if finding.identity in findings_by_identity:
            findings_by_identity[finding.identity].append(finding)
    return findings_by_identity


def _occurrences(identities: Sequence[Identity], changed: Changed) -> dict[Identity, list[Span]]:
    occurrences: dict[Identity, list[Span]] = {identity: [] for identity in identities}
    condition, first_ids = Q(pk__in=[]), {}
    ids_by_job = ids_by_first_attempt({identity[:2] for identity in identities})
    for (cluster, first_id), since in _earliest_changes(identities, changed).items():
        ids = ids_by_job[cluster, first_id]
        first_ids.update({(cluster, job_id): first_id for job_id in ids})
        condition |= Q(cluster=cluster, job_id__in=ids, seen_at__gte=since)
    names = ("cluster", "job_id", "rule", "subject_id", "began_at", "seen_at", "id", "window_start")
    for cluster, job_id, rule, subject, *span in FindingOccurrence.objects.filter(
        condition
    ).values_list(*names):
        identity = (cluster, first_ids[cluster, job_id], rule, subject)
        if identity in occurrences:
            occurrences[identity].append(Span(*span))
    return occurrences


def _earliest_changes(identities: Sequence[Identity], changed: Changed) -> dict[Job, datetime]:
    since: dict[Job, datetime] = {}
    for identity in identities:
        job, first = identity[:2], changed.spans[identity][0] - hold_of(identity[2])
        since[job] = min(first, since.get(job, first))
    return since


def _close(earlier: Iterable[Finding], hold: timedelta, life: Life) -> None:
    for finding in earlier:
        if finding.state == FindingState.OPEN:
            at = closed_at(finding.last_seen, hold, FOR_EVER, life.end_of(finding.rule))
            marks.close([finding.pk], at)


def _continued_rows(
    previous: Sequence[Finding], finding_episodes: Sequence[FindingEpisode], hold: timedelta
) -> dict[int, Finding]:
    """Index of an episode → the row that it continues: one that it overlaps, else the nearest
    within ``hold`` that no episode overlaps.
    """
    row_by_episode: dict[int, Finding] = {}
    for longest_gap in (timedelta(0), hold):
        for index, episode in enumerate(finding_episodes):
            if index in row_by_episode:
                continue
            free = [row for row in previous if row not in row_by_episode.values()]
            near = [row for row in free if _gap(row, episode) <= longest_gap]
            if near:
                row_by_episode[index] = min(near, key=lambda row: (_gap(row, episode), row.pk))
    return row_by_episode


def _gap(row: Finding, episode: FindingEpisode) -> timedelta:
    return max(timedelta(0), row.first_seen - episode.last_seen, episode.first_seen - row.last_seen)


def _write(
    identity: Identity,
    previous: list[Finding],
    finding_episodes: list[FindingEpisode],
    hold: timedelta,
    life: Life,
    *,
    is_last: bool,
) -> int:
    """Returns how many rows were saved or deleted. ``is_last``: no later episode exists."""
    occurrences = FindingOccurrence.objects.in_bulk(
        [
            episode.newest.occurrence_id
            for episode in finding_episodes
            if episode.newest.occurrence_id is not None
        ]
    )
    rows = []
    previous_marks = {finding.pk: marks.FindingMark.of(finding) for finding in previous}
    row_by_episode = _continued_rows(previous, finding_episodes, hold)
    unused = [finding for finding in previous if finding not in row_by_episode.values()]
    for index, episode in enumerate(finding_episodes):
        row = row_by_episode.get(index)
        source: FindingOccurrence | Finding | None = occurrences.get(
            episode.newest.occurrence_id or 0
        )
        if row is None and source is None:
            continue
        if row is None:
            row = Finding(
                cluster=identity[0],
                first_attempt_id=identity[1],
                rule=identity[2],
                subject_id=identity[3],
            )
        if source is None and row.last_seen != episode.last_seen:
            # Of several merged findings, the last one has the texts.
            source = next(
                (finding for finding in previous if finding.last_seen == episode.last_seen), None
            )
        if source is not None:
            for name in OCCURRENCE_FIELDS:
                setattr(row, name, getattr(source, name))
            row.as_of = source.as_of
            row.severity_rank = SEVERITY_RANK[Severity(row.severity)]
        row.first_seen, row.last_seen, row.refold_from = episode.first_seen, episode.last_seen, None
        is_newest = is_last and index == len(finding_episodes) - 1
        judged_to = life.judged_to if is_newest else FOR_EVER
        row.closed_at = closed_at(row.last_seen, hold, judged_to, life.end_of(row.rule))
        row.state = FindingState.OPEN if row.closed_at is None else FindingState.CLOSED
        rows.append(row)
    # One finding of an identity may be open: unused rows go first, the open one is saved last.
    Finding.objects.filter(pk__in=[finding.pk for finding in unused]).delete()
    for row in sorted(rows, key=lambda row: row.state == FindingState.OPEN):
        marks.save(row, previous_marks.get(row.pk))
    named_hosts.add_hosts(rows)
    return len(rows) + len(unused)
