"""What is asked of each page whose time has a budget: every sort, every filter, several together,
pages far behind, long ranges.
"""

from collections.abc import Iterable

from django.db.models import Count

from tests.bench.paged_fleet import Size, root_uri
from webapp.findings.models import Finding
from webapp.fleet.models import JobCurrent
from webapp.fleet.sorting import FLEET_SORTS
from webapp.growth.sorting import SORTS as GROWTH_SORTS
from webapp.incidents.models import Incident
from webapp.storage.views.root import JOB_SORTS

Asked = tuple[str, dict[str, str]]
"""A path and its parameters."""

OF_CLUSTER = {"cluster": "cluster-3"}
ACKNOWLEDGED = ({"acknowledged": "no"}, {"acknowledged": "yes"})
OF_TEAM = {"label": "team=team-3"}
RANGES = (
    {"from": "now-1h", "to": "now"},
    {"from": "now-7d", "to": "now"},
    {"from": "now-30d", "to": "now"},
)


def of_every_page(size: Size, of: JobCurrent) -> dict[str, list[Asked]]:
    one_job = f"/jobs/{of.cluster}/{of.job_id}/"
    root = root_uri(3)
    host = f"/hosts/{size.busiest_host}/"
    month, week = {"from": "now-30d"}, {"from": "now-7d"}
    return {
        # First: who is behind was seen to be so just now.
        "metrics of 5,000 jobs": [("/metrics/jobs", {})],
        "fleet": _all("/", [{}, *_both_ways(FLEET_SORTS), *_fleet()]),
        "findings": _all("/findings/", [*_of_rule(("open", "closed", "any")), {"sort": "burn"}]),
        "alerts": _all(
            "/alerts/",
            [
                *_of_rule(("open", "firing", "pending", "resolved", "any")),
                *ACKNOWLEDGED,
                {"silenced": "yes"},
            ],
        ),
        "incidents": _all("/incidents/", [*_of_rule(("open", "closed", "any")), *ACKNOWLEDGED]),
        "incident": [
            (f"/incidents/{uid}/", {})
            for uid in Incident.objects.order_by("-id").values_list("uid", flat=True)[:20]
        ],
        "storage": _all("/storage/", [{}]),
        "root": _all("/storage/root/", [{"uri": root, "sort": sort} for sort in JOB_SORTS]),
        "hosts": _all("/hosts/", _hosts()),
        "host": _all(host, [{}, *RANGES, *_named_most()]),
        "growth": _all("/growth/", _growth()),
        "growth chart": _all("/growth/chart", _growth()),
        "job": _all(one_job, [{}, week, month]),
        "job charts": _all(f"{one_job}charts/strip", [{}, week, month]),
        "cluster": [(f"/clusters/cluster-{number}/", {}) for number in range(5)],
        "objectives": [("/objectives/", {})],
    }


def _all(path: str, asked: Iterable[dict[str, str]]) -> list[Asked]:
    return [(path, parameters) for parameters in asked]


def _both_ways(sorts: Iterable[str]) -> list[dict[str, str]]:
    return [{"sort": f"{sign}{name}"} for name in sorts for sign in ("", "-")]


def _fleet() -> list[dict[str, str]]:
    return [
        *({"status": status} for status in ("FAILED", "UNKNOWN")),
        *({"health": group} for group in ("poor", "unknown")),
        OF_CLUSTER,
        OF_TEAM,
        {**OF_CLUSTER, "health": "poor", "sort": "name"},
        {"q": "team-33-"},
        {"q": "nothing-like-it"},
        {"q": "job-4999", **OF_TEAM, "sort": "-state"},
    ]


def _of_rule(states: Iterable[str]) -> list[dict[str, str]]:
    """Every filter in every state."""
    narrowed = (
        {},
        {"severity": "critical"},
        {"severity": "warning"},
        OF_CLUSTER,
        OF_TEAM,
        {"rule": "checkpoint.expired"},
        {"rule": "no.such"},
        {**OF_CLUSTER, "rule": "checkpoint.declined", "severity": "warning"},
        {**OF_TEAM, "severity": "critical"},
    )
    return [{"state": state, **asked} for state in states for asked in narrowed]


def _hosts() -> list[dict[str, str]]:
    narrowed = [
        {},
        OF_CLUSTER,
        OF_TEAM,
        {"name": "10-3-"},
        {"name": "nothing-like-it"},
    ]
    return [
        *narrowed,
        {"page": "80"},
        *({**span, **asked} for span in RANGES for asked in ({}, OF_TEAM)),
    ]


def _named_most() -> list[dict[str, str]]:
    """The host's page with the cluster in which most findings are open."""
    most = (
        Finding.objects.filter(state="open")
        .order_by()
        .values("cluster")
        .annotate(n=Count("pk"))
        .order_by("-n")
        .first()
    )
    return [{"cluster": most["cluster"]}] if most else []


def _growth() -> list[dict[str, str]]:
    windows = ({"days": days} for days in ("7", "30", "90"))
    groups = ({"by": by, "days": days} for by in ("cluster", "team", "env") for days in ("7", "90"))
    narrowed = (
        OF_CLUSTER,
        OF_TEAM,
        {"q": "job-4999"},
        {"q": "nothing-like-it"},
        {"ended": "yes"},
        {"ended": "no"},
    )
    sorts = [{"sort": name} for name in GROWTH_SORTS]
    return [
        *windows,
        *groups,
        *sorts,
        *narrowed,
        *({**one, "sort": sort} for one in narrowed for sort in ("timeout", "state")),
    ]
