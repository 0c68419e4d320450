"""Hosts for machines and lists: which names in which order, and which rows."""

from datetime import datetime

from webapp.hosts import lookup
from webapp.hosts.filters import HostsFilters
from webapp.hosts.lookup import Hosts
from webapp.hosts.ranking import HostRow, ordered, with_trouble

HOST_NAMES = (
    "host", "cluster", "jobs", "subtasks", "slots", "declines", "expired", "failures", "losses", "findings", "last_at",
)  # fmt: skip
EVENT_NAMES = (
    "at", "kind", "cluster", "job_id", "host", "taskmanager_id", "vertex_name", "subtask", "checkpoint_id", "trigger_time", "detail",
    "subject",
)  # fmt: skip


def host_rows(filters: HostsFilters, start: datetime, end: datetime) -> tuple[Hosts, list[HostRow]]:
    """Of the hosts that were counted those that match, in order; none where a parameter is wrong."""
    if not filters.is_valid():
        return Hosts((), start), []
    found = lookup.hosts(filters.values, start, end)
    return found, ordered(with_trouble(found.rows, filters.values.get("trouble")), *filters.sorting)
