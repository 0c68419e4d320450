"""Loads a run's occurrences, which replace those of the windows that the run judged. A finding whose
occurrences are deleted gets ``refold_from`` in the same transaction, so that a killed process loses
nothing; new occurrences come again when the run is loaded again.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from webapp.findings.models import Finding, FindingOccurrence
from webapp.fleet.attempts import first_attempts
from webapp.lib.chunks import chunks

JOBS_AT_ONCE = 400
IDS_AT_ONCE = 500

Job = tuple[str, str]
Identity = tuple[str, str, str, str]
"""cluster, first attempt's job id, rule, subject id."""


@dataclass
class Changed:
    """``spans``: identity → first and last changed instant. Until :meth:`of_jobs`, identities have
    the id of the attempt, not of the first attempt.
    """

    spans: dict[Identity, tuple[datetime, datetime]] = field(default_factory=dict)

    def add(self, identity: Identity, *instants: datetime) -> None:
        first, last = self.spans.get(identity, (instants[0], instants[0]))
        self.spans[identity] = (min(first, *instants), max(last, *instants))

    def add_occurrences(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            identity = (row["cluster"], row["job_id"], row["rule"], row["subject_id"])
            self.add(identity, row["began_at"], row["seen_at"])

    def of_jobs(self) -> "Changed":
        """The same changes with first attempts in the identities."""
        first_ids = first_attempts(identity[:2] for identity in self.spans)
        changed = Changed()
        for (cluster, job_id, rule, subject), instants in self.spans.items():
            changed.add((cluster, first_ids[cluster, job_id], rule, subject), *instants)
        return changed


def delete_superseded(judgements: Sequence[Mapping[str, Any]], changed: Changed) -> int:
    """Delete the occurrences in the windows of these rows of ``job_judgement``; returns how many.
    Call it in a transaction.
    """
    deleted = 0
    by_cluster: dict[str, dict[str, list[tuple[int, int]]]] = defaultdict(dict)
    for row in judgements:
        by_cluster[row["cluster"]][row["job_id"]] = [
            (run["first"], run["last"]) for run in json.loads(row["windows"])
        ]
    for cluster, runs_of_job in by_cluster.items():
        for jobs in chunks(sorted(runs_of_job), JOBS_AT_ONCE):
            deleted += _delete_superseded(cluster, {job: runs_of_job[job] for job in jobs}, changed)
    return deleted


def _delete_superseded(
    cluster: str, runs_of_job: Mapping[str, list[tuple[int, int]]], changed: Changed
) -> int:
    runs = [run for runs in runs_of_job.values() for run in runs]
    if not runs:
        return 0
    first = datetime.fromtimestamp(min(begin for begin, _end in runs), UTC)
    last = datetime.fromtimestamp(max(end for _begin, end in runs), UTC)
    candidates = FindingOccurrence.objects.filter(
        cluster=cluster, job_id__in=list(runs_of_job), window_start__range=(first, last)
    )
    deleted_ids: list[int] = []
    earliest: dict[Identity, datetime] = {}
    for id_, job, rule, subject, window, began_at, seen_at in candidates.values_list(
        "id", "job_id", "rule", "subject_id", "window_start", "began_at", "seen_at"
    ):
        start = int(window.timestamp())
        if any(begin <= start <= end for begin, end in runs_of_job[job]):
            identity = (cluster, job, rule, subject)
            deleted_ids.append(id_)
            changed.add(identity, began_at, seen_at)
            earliest[identity] = min(began_at, earliest.get(identity, began_at))
    _set_refold(cluster, earliest)
    for ids in chunks(deleted_ids, IDS_AT_ONCE):
        FindingOccurrence.objects.filter(id__in=ids).delete()
    return len(deleted_ids)


def _set_refold(cluster: str, earliest: Mapping[Identity, datetime]) -> None:
    if not earliest:
        return
    newest: dict[Identity, Finding] = {}
    first_ids = first_attempts(identity[:2] for identity in earliest)
    findings = Finding.objects.filter(
        cluster=cluster,
        first_attempt_id__in=set(first_ids.values()),
        last_seen__gte=min(earliest.values()),
    )
    fields = ("cluster", "first_attempt_id", "rule", "subject_id", "refold_from")
    for finding in findings.only(*fields).order_by("last_seen", "id"):
        newest[finding.identity] = finding
    marked = []
    for (_, job_id, rule, subject), at in earliest.items():
        # None if the occurrences were never folded: they will come again.
        row = newest.get((cluster, first_ids[cluster, job_id], rule, subject))
        if row is not None and (row.refold_from is None or row.refold_from > at):
            row.refold_from = at
            marked.append(row)
    Finding.objects.bulk_update(marked, ["refold_from"], batch_size=IDS_AT_ONCE)


def add_left_to_fold(changed: Changed) -> None:
    """Add findings that an earlier process marked and did not fold."""
    names = ("cluster", "first_attempt_id", "rule", "subject_id", "refold_from", "last_seen")
    for *identity, since, last in Finding.objects.filter(refold_from__isnull=False).values_list(
        *names
    ):
        changed.add(tuple(identity), since, last)
