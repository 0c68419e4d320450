"""The tabs below the charts of a job. A tab reads its data only if it is shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from webapp.analyses.registry import all_analyses
from webapp.checkpoints import querysets as facts_of
from webapp.checkpoints.cause import outcome_badge
from webapp.checkpoints.filters import JobCheckpointFilters
from webapp.checkpoints.outages import outage_totals, outages
from webapp.findings.job_findings import JobFindings
from webapp.fleet.filters import JobEventFilters
from webapp.fleet.job_lookup import JobView
from webapp.fleet.models import JobException, LogEvent
from webapp.fleet.shown_attempts import ShownAttempts
from webapp.lib.instants import epoch_ms
from webapp.lib.keysets import page
from webapp.lib.translations import gettext_lazy as _
from webapp.pressure.graph import blame, draw_graph
from webapp.pressure.hours import newest_windows
from webapp.storage import newest_audits

CHECKPOINTS_A_PAGE = 20
EVENTS_A_PAGE = 9
EXCEPTIONS_SHOWN = 10
OUTAGES_SHOWN = 10
LOG_PARAMETERS = {"kind", "events"}
"""Parameters of the list of log events. A URL with one of them shows the tab with this list."""
DEFERRED_FIELDS = ("declines", "late_messages", "failure_message", "exception")


@dataclass(frozen=True)
class PageData:
    request: HttpRequest
    view: JobView
    attempts: ShownAttempts
    findings: JobFindings


@dataclass(frozen=True)
class Link:
    title: str
    summary: str
    url: str


def _checkpoints(data: PageData) -> dict[str, Any]:
    view, parameters = data.view, data.request.GET
    facts = facts_of.of_attempts(
        view.job.cluster, data.attempts.ids, view.time_range.from_time, view.time_range.to_time
    )
    filters = JobCheckpointFilters.from_page(parameters, facts.defer(*DEFERRED_FIELDS))
    checkpoints = page(
        filters.qs, filters.order, parameters.get("checkpoints", ""), CHECKPOINTS_A_PAGE
    )
    return {
        "checkpoint_filters": filters,
        "outcome_kinds": [
            ("", gettext("all")),
            ("failed", gettext("failed")),
            ("completed", gettext("completed")),
            ("savepoints", gettext("savepoints")),
        ],
        "checkpoints": checkpoints,
        "checkpoint_rows": [
            (fact, outcome_badge(fact.outcome), epoch_ms(fact.trigger_time))
            for fact in checkpoints.rows
        ],
    }


def _pressure(data: PageData) -> dict[str, Any]:
    view, origins = data.view, data.findings.origins
    start, end = view.time_range.from_time, view.time_range.to_time
    blamed = blame(view.job, origins)
    # The graph of a past job shows the time of its finding, not the calm after it.
    drawn_to = (
        max((origin.finding.last_seen for origin in origins), default=end) if view.is_past else end
    )
    windows = newest_windows(view.job.cluster, view.job.job_id, start, min(drawn_to, end))
    plan = [*view.job.vertices, *windows]
    return {
        "origins": list(blamed.origins.values()),
        "graph": draw_graph(view.job, windows, blamed),
        "windows": sorted(windows.values(), key=lambda window: plan.index(window.vertex_id)),
        "window_at": max((window.window_start for window in windows.values()), default=None),
    }


def _state(data: PageData) -> dict[str, Any]:
    job = data.view.job
    return {"storage": newest_audits.of_job(*job.key)}


def _runtime(data: PageData) -> dict[str, Any]:
    view, parameters = data.view, data.request.GET
    start, end = view.time_range.from_time, view.time_range.to_time
    events = LogEvent.objects.filter(**view.job.identity, ts__gte=start, ts__lte=end)
    filters = JobEventFilters.from_page(parameters, events)
    exception_rows = JobException.objects.filter(**view.job.identity, ts__gte=start, ts__lte=end)
    exceptions = list(exception_rows.order_by("-ts", "-id")[: EXCEPTIONS_SHOWN + 1])
    totals = outage_totals(view.job, start, end)
    newest_outages = outages(view.job, start, end)[::-1][:OUTAGES_SHOWN] if totals.count else ()
    return {
        "outages": {**vars(totals), "shown": newest_outages},
        "events": page(filters.qs, filters.order, parameters.get("events", ""), EVENTS_A_PAGE),
        "event_filters": filters,
        "event_kinds": list(events.order_by("kind").values_list("kind", flat=True).distinct()),
        "exceptions": exceptions[:EXCEPTIONS_SHOWN],
        "more_exceptions": len(exceptions) > EXCEPTIONS_SHOWN,
    }


def _more(data: PageData) -> dict[str, Any]:
    return {"groups": [(TABS[name][0], tab_links(data, name)) for name in TABS]}


TABS: Mapping[str, tuple[str, Callable[[PageData], dict[str, Any]]]] = {
    "checkpoints": (_("Checkpoints"), _checkpoints),
    "pressure": (_("Pressure"), _pressure),
    "state": (_("State & storage"), _state),
    "runtime": (_("Runtime"), _runtime),
    "more": (_("More"), _more),
}


def content(data: PageData) -> dict[str, Any]:
    parameters = data.request.GET
    name = parameters.get("tab") or ("runtime" if LOG_PARAMETERS & parameters.keys() else "")
    tab = name if name in TABS else next(iter(TABS))
    return {
        "tab": tab,
        "tabs": [(name, title) for name, (title, _read) in TABS.items()],
        "tab_page": f"job_page/_tab_{tab}.html",
        "links": tab_links(data, tab),
        **TABS[tab][1](data),
    }


def tab_links(data: PageData, tab: str) -> list[Link]:
    job, query = data.view.job, data.view.range_query

    def address(name: str, *more: str) -> str:
        return f"{reverse(name, args=(*job.key, *more))}{query and '?'}{query}"

    links = [
        Link(declared.title, declared.summary, address(declared.name))
        for declared in all_analyses().values()
        if declared.tab == tab
    ]
    if tab == "state":
        summary = gettext(
            "copies of its checkpoints elsewhere, how old they are and what they cost"
        )
        links.append(Link(gettext("Replication"), summary, address("replication")))
    return links
