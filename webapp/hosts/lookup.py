"""Hosts from the database: all with figures, and the data of one. Every query is bounded and has
its index.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from ingest.messages import count_text
from spark_jobs.diagnosis.statistics import at_least_by_chance
from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from webapp.findings.choices import FindingState
from webapp.findings.models import Finding, FindingHost
from webapp.fleet.models import JobCurrent
from webapp.hosts.days import whole_days
from webapp.hosts.lives import jobs_that_lost, lost
from webapp.hosts.models import HostDay, HostEvent, HostLoad, JobHost, TaskManagerLife
from webapp.lib.instants import begin_of_day
from webapp.lib.recent_answers import STEP, answer_key, end_of_step
from webapp.lib.translations import ngettext_noop

_FORMS = {
    "decline": ngettext_noop("%(count)s decline", "%(count)s declines"),
    "expired": ngettext_noop("%(count)s expired checkpoint", "%(count)s expired checkpoints"),
    "failure": ngettext_noop("%(count)s failed task", "%(count)s failed tasks"),
    "taskmanager_lost": ngettext_noop("%(count)s lost TaskManager", "%(count)s lost TaskManagers"),
}
NOTABLE = 2.0
"""In multiples of the number expected by its subtasks; at least three events."""
LEAST_EVENTS = 3
MOST_CHANCE = 0.05
"""The probability of so many here if all subtasks were equally likely: three of three on one of two
hosts are not notable.
"""

Job = tuple[str, str]


@dataclass(frozen=True)
class Concentration:
    """``here`` of ``total`` events of the jobs were on the host; ``expected``: by its share of
    subtasks, None if a placement is unknown.
    """

    kind: str
    here: int
    total: int
    expected: float | None

    @property
    def is_notable(self) -> bool:
        return (
            self.here >= LEAST_EVENTS
            and self.expected is not None
            and self.here >= NOTABLE * self.expected
            and at_least_by_chance(self.here, self.total, self.expected / self.total) <= MOST_CHANCE
        )

    @property
    def sentence(self) -> str:
        losses = ngettext(
            "%(here)s of %(all)s of the jobs that ran here was on this host",
            "%(here)s of %(all)s of the jobs that ran here were on this host",
            self.here,
        ) % {"here": f"{self.here:,}", "all": counted(self.kind, self.total)}
        if self.expected is None:
            return gettext(
                "%(losses)s; how many would be expected is unknown, since no placement of some of "
                "these jobs was seen."
            ) % {"losses": losses}
        return gettext(
            "%(losses)s; by its share of their subtasks %(expected)s would be expected."
        ) % {
            "losses": losses,
            "expected": f"{self.expected:.1f}",
        }


def concentration(
    kind: str, events: Mapping[Job, tuple[int, int]], subtasks: Mapping[Job, tuple[int, int]]
) -> Concentration:
    """``events`` and ``subtasks``: job → (on the host, all). The expected number assumes that all
    subtasks of a job are equally likely.
    """
    known = {job: own / every for job, (own, every) in subtasks.items() if every}
    of_jobs = {job: every for job, (_, every) in events.items() if every}
    expected = (
        sum(every * known[job] for job, every in of_jobs.items())
        if of_jobs.keys() <= known.keys()
        else None
    )
    return Concentration(
        kind, sum(here for here, _ in events.values()), sum(of_jobs.values()), expected
    )


def counted(kind: str, total: int) -> str:
    return (
        str(ngettext(*_FORMS[kind], total) % {"count": f"{total:,}"})
        if kind in _FORMS
        else count_text(total, kind)
    )


@dataclass(frozen=True)
class HostRow:
    """``jobs``, ``subtasks``, ``slots``: now; the others: in the time range. ``findings``: open
    ones that name it; ``worst_rank``: their highest severity.
    """

    host: str
    cluster: str
    jobs: int = 0
    subtasks: int = 0
    slots: int = 0
    declines: int = 0
    expired: int = 0
    failures: int = 0
    losses: int = 0
    findings: int = 0
    worst_rank: int = 0
    last_at: datetime | None = None

    @property
    def trouble(self) -> int:
        return self.declines + self.expired + self.failures + self.losses + self.findings


def worst_first(row: HostRow) -> tuple[Any, ...]:
    """A sort key."""
    last_at = row.last_at.timestamp() if row.last_at else 0.0
    return -row.worst_rank, -row.trouble, -last_at, row.host, row.cluster


MOST_HOSTS = 20_000
MOST_EVENTS = 50_000
"""Events counted one by one, besides whole days; if there are more, only the newest of the whole
range.
"""
MOST_JOBS, MOST_FINDINGS, MOST_CLUSTERS = 100, 50, 20
KEPT_S = 20

COUNTS = {
    "declines": Count("pk", filter=Q(kind="decline")),
    "expired": Count("pk", filter=Q(kind="expired")),
    "failures": Count("pk", filter=Q(kind="failure")),
}


@dataclass(frozen=True)
class Hosts:
    """``since``: the start of counting, later than requested if there are very many events
    (``counts_less``); ``is_cut``: hosts are missing.
    """

    rows: Sequence[HostRow]
    since: datetime
    is_cut: bool = False
    counts_less: bool = False


@dataclass(frozen=True)
class HostJob:
    """``name``: else the id; ``job``: with its status, None if no longer known."""

    row: JobHost
    name: str
    job: JobCurrent | None


def hosts(cluster: str | None, start: datetime, end: datetime) -> Hosts:
    """Hosts of one cluster or of all, unordered, cached briefly. Six queries: whole days from their
    counts, the rest from events.
    """
    # The end of most ranges moves with time.
    span = (
        (end_of_step(start), end_of_step(end)) if abs(timezone.now() - end) < STEP else (start, end)
    )
    key = answer_key("hosts", (HostRow, Hosts), cluster, *span)
    if isinstance(cached := cache.get(key), tuple):
        return Hosts([HostRow(*row) for row in cached[0]], *cached[1:])
    of = {} if cluster is None else {"cluster": cluster}
    facts_by_host: dict[tuple[str, str], dict[str, Any]] = {}
    first, last = whole_days(start, end)
    events = HostEvent.objects.filter(**of, at__gte=start, at__lte=end)
    beside = (
        events.filter(Q(at__lt=begin_of_day(first)) | Q(at__gte=begin_of_day(last)))
        if first < last
        else events
    )
    since = _first_counted(beside)
    if since and first < last:
        first, beside = last, events
        since = _first_counted(events)
    counted = beside.filter(at__gte=since) if since else beside
    running = (
        HostLoad.objects.filter(**of)
        .order_by()
        .values("host", "cluster", "jobs", "subtasks", "slots")
    )
    named = FindingHost.objects.filter(**of, finding__state=FindingState.OPEN)
    worst = _by_host(named, findings=Count("pk"), worst_rank=Max("finding__severity_rank"))
    for row in chain(running[: MOST_HOSTS + 1], worst):
        facts_by_host.setdefault((row["host"], row["cluster"]), {}).update(row)
    days = HostDay.objects.filter(**of, day__gte=first, day__lt=last)
    losses = lost(since or start, end).filter(**of)
    for row in chain(
        _by_host(days, **{name: Sum(name) for name in COUNTS}, newest=Max("last_at")),
        _by_host(counted, **COUNTS, newest=Max("at")),
        _by_host(losses, losses=Count("pk"), newest=Max("ended_at")),
    ):
        _add(facts_by_host.setdefault((row["host"], row["cluster"]), {}), row)
    rows = [HostRow(**row) for row in islice(facts_by_host.values(), MOST_HOSTS)]
    answer = Hosts(rows, since or start, len(facts_by_host) > MOST_HOSTS, since is not None)
    # Plain rows: pickling thousands of objects takes longer than counting.
    cache.set(
        key,
        (
            [tuple(vars(row).values()) for row in rows],
            answer.since,
            answer.is_cut,
            answer.counts_less,
        ),
        KEPT_S,
    )
    return answer


def _first_counted(events: "QuerySet[HostEvent]") -> datetime | None:
    """Since when events are counted, if they are too many; else None."""
    newest = events.order_by("-at", "-id").values_list("at", flat=True)
    return newest[MOST_EVENTS : MOST_EVENTS + 1].first()


def _by_host(rows: "QuerySet[Any]", **figures: Any) -> Any:
    return rows.order_by().values("host", "cluster").annotate(**figures)[: MOST_HOSTS + 1]


def _add(to: dict[str, Any], row: Mapping[str, Any]) -> None:
    for name, value in row.items():
        if name in COUNTS or name == "losses":
            to[name] = to.get(name, 0) + value
        elif name != "newest":
            to[name] = value
    if newest := row.get("newest"):
        to["last_at"] = max(to.get("last_at", newest), newest)


def clusters_of(host: str) -> list[str]:
    """Clusters with a host of this name, by name. Three queries."""
    names: set[str] = set()
    for model in (JobHost, HostEvent, FindingHost, TaskManagerLife):
        names.update(
            model.objects.filter(host=host)
            .order_by()
            .values_list("cluster", flat=True)
            .distinct()[:MOST_CLUSTERS]
        )
    return sorted(names)[:MOST_CLUSTERS]


def jobs_of(host: str, clusters: Sequence[str]) -> tuple[list[HostJob], int]:
    """Jobs that run there, most subtasks first, then those that left, the latest first; and the
    number running. Four queries.
    """
    rows = JobHost.objects.filter(host=host, cluster__in=clusters)
    running = list(rows.filter(left_at__isnull=True).order_by("-subtasks", "id")[:MOST_JOBS])
    left = list(
        rows.filter(left_at__isnull=False).order_by("-left_at", "id")[: MOST_JOBS - len(running)]
    )
    known = known_jobs([(row.cluster, row.job_id) for row in (*running, *left)])
    jobs = [
        HostJob(row, job_name(known, row), known.get((row.cluster, row.job_id)))
        for row in (*running, *left)
    ]
    return jobs, rows.filter(left_at__isnull=True).count()


def known_jobs(jobs: Collection[tuple[str, str]]) -> dict[tuple[str, str], JobCurrent]:
    """With name and status. One query."""
    known = JobCurrent.objects.with_status(timezone.now()).only(
        "cluster", "job_id", "name", "state", "last_seen_at"
    )
    rows = known.filter(
        cluster__in={cluster for cluster, _ in jobs}, job_id__in={job_id for _, job_id in jobs}
    )
    return {(row.cluster, row.job_id): row for row in rows}


def job_name(known: Mapping[tuple[str, str], JobCurrent], row: JobHost | HostEvent) -> str:
    job = known.get((row.cluster, row.job_id))
    return (job.name if job else "") or row.job_id


def findings_of(
    host: str, clusters: Sequence[str], start: datetime, end: datetime
) -> list[Finding]:
    """Findings that name the host and are open or were seen in the range; open ones first, then by
    severity. One query.
    """
    named = FindingHost.objects.filter(host=host, cluster__in=clusters)
    at_that_time = Q(state=FindingState.OPEN) | Q(last_seen__gte=start, first_seen__lte=end)
    findings = Finding.objects.filter(at_that_time, pk__in=named.values("finding")).defer(
        "evidence", "data"
    )
    return list(findings.order_by("-state", "-severity_rank", "-last_seen", "-id")[:MOST_FINDINGS])


def counts_of(host: str, clusters: Sequence[str], start: datetime, end: datetime) -> dict[str, int]:
    """Counts of events there in the range. Two queries."""
    events = HostEvent.objects.filter(host=host, cluster__in=clusters, at__gte=start, at__lte=end)
    losses = lost(start, end).filter(host=host, cluster__in=clusters)
    return {**events.aggregate(**COUNTS), "losses": losses.count()}


def concentrations(
    host: str, clusters: Sequence[str], start: datetime, end: datetime
) -> list[Concentration]:
    """Concentrations of each kind of event there, the most notable first, for jobs that run or ran
    there. Four queries.
    """
    ran_here = JobHost.objects.filter(host=host, cluster__in=clusters).order_by().values("job_id")
    on_host = (
        HostEvent.objects.filter(host=host, cluster__in=clusters, at__gte=start, at__lte=end)
        .order_by()
        .values("job_id")
    )
    of_jobs = HostEvent.objects.filter(cluster__in=clusters, at__gte=start, at__lte=end)
    of_jobs = of_jobs.filter(Q(job_id__in=ran_here) | Q(job_id__in=on_host))
    counted: dict[str, dict[tuple[str, str], tuple[int, int]]] = defaultdict(dict)
    grouped = (
        of_jobs.order_by()
        .values_list("kind", "cluster", "job_id")
        .annotate(here=Count("pk", filter=Q(host=host)), total=Count("pk"))
    )
    for kind, cluster, job_id, here, total in grouped:
        counted[kind][cluster, job_id] = (here, total)
    losses = list(lost(start, end).filter(cluster__in=clusters)[:MOST_EVENTS])
    for life, jobs in jobs_that_lost(losses):
        for job in jobs:
            here, total = counted[TASKMANAGER_LOST].get(job, (0, 0))
            counted[TASKMANAGER_LOST][job] = (here + (life.host == host), total + 1)
    counted = {
        kind: jobs for kind, jobs in counted.items() if any(here for here, _ in jobs.values())
    }
    wanted = {job for jobs in counted.values() for job in jobs}
    placed = JobHost.objects.filter(
        cluster__in={cluster for cluster, _ in wanted}, job_id__in={job_id for _, job_id in wanted}
    )
    own = Sum("subtasks", filter=Q(host=host))
    read: Any = (
        placed.order_by().values_list("cluster", "job_id").annotate(own=own, every=Sum("subtasks"))
    )
    subtasks = {(cluster, job_id): (here or 0, total or 0) for cluster, job_id, here, total in read}
    concentrated = [
        concentration(kind, jobs, {job: subtasks.get(job, (0, 0)) for job in jobs})
        for kind, jobs in counted.items()
    ]
    return sorted(
        concentrated,
        key=lambda share: (
            not share.is_notable,
            [*_FORMS].index(share.kind) if share.kind in _FORMS else len(_FORMS),
        ),
    )
