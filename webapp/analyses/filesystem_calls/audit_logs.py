"""What audit logs of NameNodes have of some minutes: calls by second, kind, caller and job, beside
what was expected of each job.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ingest.messages import message
from webapp.analyses.filesystem_calls.fleet_jobs import FleetJob
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib import scopes
from webapp.work.lake import read_newest

log = logging.getLogger(__name__)

TABLE = "namenode_calls"
COLUMNS = ("cluster", "log", "offset", "ts", "cmd", "user", "address", "job_id", "calls", "refused")
MOST_ROWS = 200_000
MOST_CALLERS, MOST_JOBS = 20, 50
UNREADABLE = message("The lake could not be read; the server's log has the reason.")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Caller:
    """``peak``: its calls in its own worst second; ``in_peak``: in the worst second of the
    NameNode.
    """

    user: str
    address: str
    calls: int
    peak: int
    in_peak: int


@dataclass(frozen=True)
class JobSeen:
    """Calls whose path has the id of the job.

    ``expected_per_s``: of the kinds that an audit log has, None where not known.
    """

    cluster: str
    job_id: str
    name: str
    calls: int
    per_s: float
    expected_per_s: float | None


@dataclass(frozen=True)
class AuditedCalls:
    """Of the audit logs that are declared on one cluster. ``since``: from when on its rows were few
    enough to be read, ``lasted_s`` from then to the end of the minutes. ``no_job``: calls whose
    path names no job. ``kinds``: by what the log calls them, most first. ``seconds``: from the
    start of the minutes on.
    """

    cluster: str
    since: datetime
    lasted_s: float
    calls: int
    refused: int
    no_job: int
    peak: int
    peak_at: datetime | None
    kinds: Mapping[str, int]
    callers: Sequence[Caller]
    jobs: Sequence[JobSeen]
    seconds: Sequence[int]


@dataclass(frozen=True)
class Observed:
    """``silent``: clusters with declared audit logs of which nothing is known in these minutes.

    ``why``: what hinders, "" where nothing.
    """

    logs: Sequence[AuditedCalls] = ()
    silent: Sequence[str] = ()
    why: str = ""


def observed_in(start: datetime, seconds: int, expected: Sequence[FleetJob]) -> Observed:
    """The lake is asked only where audit logs are declared."""
    if not scopes.current().is_everything:  # a NameNode serves jobs of any cluster
        return Observed()
    declared = sorted(Cluster.objects.exclude(hdfs_audit_globs=[]).values_list("name", flat=True))
    if not declared:
        return Observed()
    end = start + timedelta(seconds=seconds)
    try:
        observed, since = read_newest(TABLE, {}, start, end, COLUMNS, MOST_ROWS)
    except Exception:  # The lake may be any storage, with any error.
        log.exception("Calls of audit logs could not be read from the lake")
        return Observed(silent=declared, why=UNREADABLE)
    by_cluster: dict[str, list[Row]] = defaultdict(list)
    for row in once_each(observed.to_pylist()):
        if start <= row["ts"] < end:  # the lake prunes by files
            by_cluster[row["cluster"]].append(row)
    paced = {job.job_id: job for job in expected}
    busiest = {name: _by_job(rows) for name, rows in by_cluster.items()}
    ids = {job_id for jobs in busiest.values() for job_id, _calls in jobs}
    names = {
        job.job_id: job
        for job in JobCurrent.objects.filter(job_id__in=ids).only("cluster", "job_id", "name")
    }
    lasted = (end - since).total_seconds()
    logs = []
    for name, rows in sorted(by_cluster.items()):
        jobs = [
            _job(job_id, calls, lasted, names.get(job_id), paced.get(job_id))
            for job_id, calls in busiest[name]
        ]
        logs.append(_audited(name, rows, start, (since, lasted), seconds, jobs))
    return Observed(logs, [name for name in declared if name not in by_cluster])


def once_each(rows: Iterable[Row]) -> list[Row]:
    """Of rows of one identity the one with most calls: a piece that was read again goes farther."""
    rows_by_key: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in COLUMNS[:8])
        if key not in rows_by_key or row["calls"] > rows_by_key[key]["calls"]:
            rows_by_key[key] = row
    return list(rows_by_key.values())


def _by_job(rows: Iterable[Row]) -> list[tuple[str, int]]:
    jobs: Counter[str] = Counter()
    for row in rows:
        if row["job_id"]:
            jobs[row["job_id"]] += row["calls"]
    return sorted(jobs.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_JOBS]


def _job(
    job_id: str, calls: int, lasted_s: float, known: JobCurrent | None, paced: FleetJob | None
) -> JobSeen:
    cluster, name = (known.cluster, known.name or job_id) if known else ("", job_id)
    return JobSeen(
        cluster, job_id, name, calls, calls / lasted_s, paced.audited_per_s if paced else None
    )


def _audited(
    cluster: str,
    rows: Sequence[Row],
    start: datetime,
    read: tuple[datetime, float],
    seconds: int,
    jobs: Sequence[JobSeen],
) -> AuditedCalls:
    by_second, kinds = [0] * seconds, Counter[str]()
    callers: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for row in rows:
        second = int((row["ts"] - start).total_seconds())
        by_second[second] += row["calls"]
        kinds[row["cmd"]] += row["calls"]
        callers[row["user"], row["address"]][second] += row["calls"]
    worst = max(range(seconds), key=by_second.__getitem__)
    by_rate = [
        Caller(*who, sum(of.values()), max(of.values()), of[worst]) for who, of in callers.items()
    ]
    return AuditedCalls(
        cluster,
        *read,
        sum(by_second),
        sum(row["refused"] for row in rows),
        sum(row["calls"] for row in rows if not row["job_id"]),
        by_second[worst],
        start + timedelta(seconds=worst) if by_second[worst] else None,
        dict(kinds.most_common(MOST_CALLERS)),
        sorted(by_rate, key=lambda caller: (-caller.calls, caller.user, caller.address))[
            :MOST_CALLERS
        ],
        jobs,
        by_second,
    )
