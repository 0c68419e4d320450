"""Loads a run's occurrences: those of judged windows are replaced, and changed identities are
remembered until they are folded. A finding whose occurrences were deleted gets ``refold_from`` in
the same transaction, so that a killed process loses nothing; new occurrences come again when the
run is loaded again.
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
"""cluster, id of the first attempt of the job, rule, subject_id."""


@dataclass
class Changed:
    """Identities with changed occurrences, and the first and last changed instant. At first they
    have the id of the attempt: see :meth:`of_jobs`.
    """

    spans: dict[Identity, tuple[datetime, datetime]] = field(default_factory=dict)

    def add(self, identity: Identity, at: datetime) -> None:
        first, last = self.spans.get(identity, (at, at))
        self.spans[identity] = (min(first, at), max(last, at))

    def add_occurrences(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            identity = (row["cluster"], row["job_id"], row["rule"], row["subject_id"])
            self.add(identity, row["began_at"])
            self.add(identity, row["seen_at"])

    def of_jobs(self) -> "Changed":
        """The same with the first attempt of each job."""
        first = first_attempts(identity[:2] for identity in self.spans)
        changed = Changed()
        for (cluster, job_id, rule, subject), instants in self.spans.items():
            for at in instants:
                changed.add((cluster, first[cluster, job_id], rule, subject), at)
        return changed


def delete_superseded(judgements: Sequence[Mapping[str, Any]], changed: Changed) -> int:
    """Delete the occurrences of the windows that these rows of ``job_judgement`` judged; returns
    how many. Call it in a transaction.
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
    first, last = (
        datetime.fromtimestamp(at, UTC)
        for at in (min(run[0] for run in runs), max(run[1] for run in runs))
    )
    near = FindingOccurrence.objects.filter(
        cluster=cluster, job_id__in=list(runs_of_job), window_start__range=(first, last)
    )
    gone: list[int] = []
    touched: dict[Identity, datetime] = {}
    for id_, job, rule, subject, window, began_at, seen_at in near.values_list(
        "id", "job_id", "rule", "subject_id", "window_start", "began_at", "seen_at"
    ):
        start = int(window.timestamp())
        if any(begin <= start <= end for begin, end in runs_of_job[job]):
            identity = (cluster, job, rule, subject)
            gone.append(id_)
            changed.add(identity, began_at)
            changed.add(identity, seen_at)
            touched[identity] = min(began_at, touched.get(identity, began_at))
    _mark(cluster, touched)
    for ids in chunks(gone, IDS_AT_ONCE):
        FindingOccurrence.objects.filter(id__in=ids).delete()
    return len(gone)


def _mark(cluster: str, touched: Mapping[Identity, datetime]) -> None:
    if not touched:
        return
    newest: dict[Identity, Finding] = {}
    first = first_attempts(identity[:2] for identity in touched)
    of_jobs = Finding.objects.filter(
        cluster=cluster,
        first_attempt_id__in=set(first.values()),
        last_seen__gte=min(touched.values()),
    )
    read = ("cluster", "first_attempt_id", "rule", "subject_id", "refold_from")
    for finding in of_jobs.only(*read).order_by("last_seen", "id"):
        newest[finding.identity] = finding
    marked = []
    for (_, job_id, rule, subject), at in touched.items():
        # None if occurrences were never folded: they will come again
        known = newest.get((cluster, first[cluster, job_id], rule, subject))
        if known is not None and (known.refold_from is None or known.refold_from > at):
            known.refold_from = at
            marked.append(known)
    Finding.objects.bulk_update(marked, ["refold_from"], batch_size=IDS_AT_ONCE)


def left_to_fold(changed: Changed) -> None:
    names = ("cluster", "first_attempt_id", "rule", "subject_id", "refold_from", "last_seen")
    for *identity, since, last in Finding.objects.filter(refold_from__isnull=False).values_list(
        *names
    ):
        changed.add(tuple(identity), since)
        changed.add(tuple(identity), last)
