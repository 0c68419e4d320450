from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from ingest.discovery.pods import pods_of
from ingest.messages import count_text
from spark_jobs.diagnosis.statistics import at_least_by_chance
from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from webapp.findings.choices import FindingState
from webapp.findings.models import Finding, FindingHost
from webapp.fleet.attempts import Job
from webapp.fleet.models import Cluster, JobCurrent
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
"""Multiple of the expected number of events."""
LEAST_EVENTS = 3
MOST_CHANCE = 0.05
"""If subtasks were equally likely: three of three events on one of two hosts are not notable."""


@dataclass(frozen=True)
class Concentration:
    """``on_host`` of ``total`` events. ``expected`` by its share of subtasks, None if unknown."""

    kind: str
    on_host: int
    total: int
    expected: float | None

    @property
    def is_notable(self) -> bool:
        return (
            self.on_host >= LEAST_EVENTS
            and self.expected is not None
            and self.on_host >= NOTABLE * self.expected
            and at_least_by_chance(self.on_host, self.total, self.expected / self.total)
            <= MOST_CHANCE
        )

    @property
    def sentence(self) -> str:
        losses = ngettext(
            "%(here)s of %(all)s of the jobs that ran here was on this host",
            "%(here)s of %(all)s of the jobs that ran here were on this host",
            self.on_host,
        ) % {"here": f"{self.on_host:,}", "all": events_text(self.kind, self.total)}
        if self.expected is None:
            return gettext(
                "%(losses)s; how many would be expected is unknown, since no placement of some of "
                "these jobs was seen."
            ) % {"losses": losses}
        return gettext(
            "%(losses)s; by its share of their subtasks %(expected)s would be expected."
        ) % {"losses": losses, "expected": f"{self.expected:.1f}"}


def concentration(
    kind: str, events: Mapping[Job, tuple[int, int]], subtasks: Mapping[Job, tuple[int, int]]
) -> Concentration:
    """``events``, ``subtasks``: (on the host, all) by job. All subtasks are equally likely."""
    shares = {job: on_host / total for job, (on_host, total) in subtasks.items() if total}
    totals = {job: total for job, (_, total) in events.items() if total}
    expected = (
        sum(total * shares[job] for job, total in totals.items())
        if totals.keys() <= shares.keys()
        else None
    )
    on_host = sum(on_host for on_host, _ in events.values())
    return Concentration(kind, on_host, sum(totals.values()), expected)


def events_text(kind: str, total: int) -> str:
    return (
        str(ngettext(*_FORMS[kind], total) % {"count": f"{total:,}"})
        if kind in _FORMS
        else count_text(total, kind)
    )


@dataclass(frozen=True)
class HostRow:
    """``jobs``, ``subtasks`` and ``slots`` are current; other counts are of the time range.
    ``findings``: open, and naming the host. ``worst_rank``: their highest severity.
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
    last_at = row.last_at.timestamp() if row.last_at else 0.0
    return -row.worst_rank, -row.trouble, -last_at, row.host, row.cluster


MOST_HOSTS = 20_000
MOST_EVENTS = 50_000
"""Events outside whole days. If there are more, only the newest of the range are counted."""
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
    (``counts_less``). ``is_cut``: there are more hosts than ``rows``.
    """

    rows: Sequence[HostRow]
    since: datetime
    is_cut: bool = False
    counts_less: bool = False


@dataclass(frozen=True)
class HostJob:
    """``name``: of the job, else its id. ``job``: with status; None if it is no longer known."""

    row: JobHost
    name: str
    job: JobCurrent | None


def hosts(cluster: str | None, start: datetime, end: datetime) -> Hosts:
    """Hosts, unordered, cached briefly: whole days from their counts, the rest from events."""
    # Ranges that end now share an answer for a step of time.
    span = (
        (end_of_step(start), end_of_step(end)) if abs(timezone.now() - end) < STEP else (start, end)
    )
    key = answer_key("hosts", (HostRow, Hosts), cluster, *span)
    if isinstance(cached := cache.get(key), tuple):
        return Hosts([HostRow(*row) for row in cached[0]], *cached[1:])
    in_cluster = {} if cluster is None else {"cluster": cluster}
    facts_by_host: dict[tuple[str, str], dict[str, Any]] = {}
    first, last = whole_days(start, end)
    events = HostEvent.objects.filter(**in_cluster, at__gte=start, at__lte=end)
    single_events = (
        events.filter(Q(at__lt=begin_of_day(first)) | Q(at__gte=begin_of_day(last)))
        if first < last
        else events
    )
    since = _first_counted(single_events)
    if since and first < last:
        first, single_events = last, events
        since = _first_counted(events)
    if since:
        single_events = single_events.filter(at__gte=since)
    loads = (
        HostLoad.objects.filter(**in_cluster)
        .order_by()
        .values("host", "cluster", "jobs", "subtasks", "slots")
    )
    finding_hosts = FindingHost.objects.filter(**in_cluster, finding__state=FindingState.OPEN)
    open_findings = _by_host(
        finding_hosts, findings=Count("pk"), worst_rank=Max("finding__severity_rank")
    )
    for row in chain(loads[: MOST_HOSTS + 1], open_findings):
        facts_by_host.setdefault((row["host"], row["cluster"]), {}).update(row)
    days = HostDay.objects.filter(**in_cluster, day__gte=first, day__lt=last)
    losses = lost(since or start, end).filter(**in_cluster)
    for row in chain(
        _by_host(days, **{name: Sum(name) for name in COUNTS}, newest=Max("last_at")),
        _by_host(single_events, **COUNTS, newest=Max("at")),
        _by_host(losses, losses=Count("pk"), newest=Max("ended_at")),
    ):
        _add(facts_by_host.setdefault((row["host"], row["cluster"]), {}), row)
    rows = [HostRow(**row) for row in islice(facts_by_host.values(), MOST_HOSTS)]
    answer = Hosts(rows, since or start, len(facts_by_host) > MOST_HOSTS, since is not None)
    # Tuples: pickling thousands of objects takes longer than counting.
    tuples = [tuple(vars(row).values()) for row in rows]
    cache.set(key, (tuples, answer.since, answer.is_cut, answer.counts_less), KEPT_S)
    return answer


def _first_counted(events: "QuerySet[HostEvent]") -> datetime | None:
    """The instant from which events are counted if there are too many, else None."""
    newest = events.order_by("-at", "-id").values_list("at", flat=True)
    return newest[MOST_EVENTS : MOST_EVENTS + 1].first()


def _by_host(rows: "QuerySet[Any]", **figures: Any) -> Any:
    return rows.order_by().values("host", "cluster").annotate(**figures)[: MOST_HOSTS + 1]


def _add(facts: dict[str, Any], row: Mapping[str, Any]) -> None:
    for name, value in row.items():
        if name in COUNTS or name == "losses":
            facts[name] = facts.get(name, 0) + value
        elif name != "newest":
            facts[name] = value
    if newest := row.get("newest"):
        facts["last_at"] = max(facts.get("last_at", newest), newest)


def nodes_of(clusters: Iterable[str], names: Collection[str]) -> list[str]:
    """Nodes of the pods that have one of these names or addresses."""
    listed = Cluster.objects.filter(name__in=clusters).values_list("pods", flat=True)
    pods = (pod for entries in listed for pod in pods_of(entries))
    return sorted({pod.node for pod in pods if pod.node and {pod.name, pod.address} & {*names}})


def clusters_of(host: str) -> list[str]:
    """Clusters with a host of this name, by name. Four queries."""
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
    """Jobs on the host, most subtasks first, then those that left; and how many are there."""
    rows = JobHost.objects.filter(host=host, cluster__in=clusters)
    running = list(rows.filter(left_at__isnull=True).order_by("-subtasks", "id")[:MOST_JOBS])
    former = list(
        rows.filter(left_at__isnull=False).order_by("-left_at", "id")[: MOST_JOBS - len(running)]
    )
    rows_shown = [*running, *former]
    jobs_by_key = known_jobs([row.key for row in rows_shown])
    jobs = [
        HostJob(row, job_name(jobs_by_key, row), jobs_by_key.get(row.key)) for row in rows_shown
    ]
    return jobs, rows.filter(left_at__isnull=True).count()


def known_jobs(jobs: Collection[Job]) -> dict[Job, JobCurrent]:
    """Jobs with name and status. One query."""
    jobs_with_status = JobCurrent.objects.with_status(timezone.now()).only(
        "cluster", "job_id", "name", "state", "last_seen_at"
    )
    rows = jobs_with_status.filter(
        cluster__in={cluster for cluster, _ in jobs}, job_id__in={job_id for _, job_id in jobs}
    )
    return {row.key: row for row in rows}


def job_name(jobs: Mapping[Job, JobCurrent], row: JobHost | HostEvent) -> str:
    job = jobs.get(row.key)
    return (job.name if job else "") or row.job_id


def findings_of(
    host: str, clusters: Sequence[str], start: datetime, end: datetime
) -> list[Finding]:
    """Findings that name the host, open or seen in the range; open first, then by severity."""
    finding_hosts = FindingHost.objects.filter(host=host, cluster__in=clusters)
    at_that_time = Q(state=FindingState.OPEN) | Q(last_seen__gte=start, first_seen__lte=end)
    findings = Finding.objects.filter(at_that_time, pk__in=finding_hosts.values("finding")).defer(
        "evidence", "data"
    )
    return list(findings.order_by("-state", "-severity_rank", "-last_seen", "-id")[:MOST_FINDINGS])


def counts_of(host: str, clusters: Sequence[str], start: datetime, end: datetime) -> dict[str, int]:
    """Counts of events on the host in the range. Two queries."""
    events = HostEvent.objects.filter(host=host, cluster__in=clusters, at__gte=start, at__lte=end)
    losses = lost(start, end).filter(host=host, cluster__in=clusters)
    return {**events.aggregate(**COUNTS), "losses": losses.count()}


def concentrations(
    host: str, clusters: Sequence[str], start: datetime, end: datetime
) -> list[Concentration]:
    """Each kind of event, for jobs that run or ran on the host; notable kinds first."""
    placed_jobs = (
        JobHost.objects.filter(host=host, cluster__in=clusters).order_by().values("job_id")
    )
    in_range = HostEvent.objects.filter(cluster__in=clusters, at__gte=start, at__lte=end).order_by()
    jobs_with_events = in_range.filter(host=host).values("job_id")
    events = (
        in_range.filter(Q(job_id__in=placed_jobs) | Q(job_id__in=jobs_with_events))
        .values_list("kind", "cluster", "job_id")
        .annotate(on_host=Count("pk", filter=Q(host=host)), total=Count("pk"))
    )
    counts: dict[str, dict[Job, tuple[int, int]]] = defaultdict(dict)
    for kind, cluster, job_id, on_host, total in events:
        counts[kind][cluster, job_id] = (on_host, total)
    losses = list(lost(start, end).filter(cluster__in=clusters)[:MOST_EVENTS])
    for life, jobs in jobs_that_lost(losses):
        for job in jobs:
            on_host, total = counts[TASKMANAGER_LOST].get(job, (0, 0))
            counts[TASKMANAGER_LOST][job] = (on_host + (life.host == host), total + 1)
    counts = {
        kind: of_jobs
        for kind, of_jobs in counts.items()
        if any(on_host for on_host, _ in of_jobs.values())
    }
    all_jobs = {job for of_jobs in counts.values() for job in of_jobs}
    placements: Any = (
        JobHost.objects.filter(
            cluster__in={cluster for cluster, _ in all_jobs},
            job_id__in={job_id for _, job_id in all_jobs},
        )
        .order_by()
        .values_list("cluster", "job_id")
        .annotate(on_host=Sum("subtasks", filter=Q(host=host)), total=Sum("subtasks"))
    )
    subtasks = {
        (cluster, job_id): (on_host or 0, total or 0)
        for cluster, job_id, on_host, total in placements
    }
    shares = [
        concentration(kind, of_jobs, {job: subtasks.get(job, (0, 0)) for job in of_jobs})
        for kind, of_jobs in counts.items()
    ]
    kinds = [*_FORMS]
    return sorted(
        shares,
        key=lambda share: (
            not share.is_notable,
            kinds.index(share.kind) if share.kind in kinds else len(kinds),
        ),
    )
