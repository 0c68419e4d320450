"""Hosts for machines and lists: which names in which order, and which rows."""

from datetime import datetime
from typing import Any

from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from spark_jobs.fold.taskmanager_lives import reason_of
from webapp.fleet.filters import ClusterLabels
from webapp.fleet.models import Cluster
from webapp.hosts import lookup
from webapp.hosts.filters import HostsFilters
from webapp.hosts.lookup import Hosts
from webapp.hosts.models import TaskManagerLife
from webapp.hosts.ranking import HostRow, ordered, with_trouble
from webapp.lib.messages.rendering import localised

HOST_NAMES = (
    "host",
    "cluster",
    "jobs",
    "subtasks",
    "slots",
    "declines",
    "expired",
    "failures",
    "losses",
    "findings",
    "last_at",
)
LABEL_OF_CLUSTER = ClusterLabels("name")
EVENT_NAMES = (
    "at",
    "kind",
    "cluster",
    "job_id",
    "host",
    "taskmanager_id",
    "vertex_name",
    "subtask",
    "checkpoint_id",
    "trigger_time",
    "detail",
    "subject",
)


def host_rows(filters: HostsFilters, start: datetime, end: datetime) -> tuple[Hosts, list[HostRow]]:
    """Of the hosts that were counted those that match, in order; none where a parameter is wrong."""
    if not filters.is_valid():
        return Hosts((), start), []
    asked = filters.values
    hosts = lookup.hosts(asked.get("cluster"), start, end)
    rows = with_trouble(hosts.rows, asked.get("trouble"))
    if part := asked.get("name", "").casefold():
        rows = [row for row in rows if part in row.host.casefold()]
    if asked.get("label"):
        labelled = set(
            LABEL_OF_CLUSTER.filter(Cluster.objects.all(), asked["label"]).values_list(
                "name", flat=True
            )
        )
        rows = [row for row in rows if row.cluster in labelled]
    return hosts, ordered(rows, *filters.sorting)


def loss_row(life: TaskManagerLife) -> dict[str, Any]:
    """The loss of a TaskManager among what happened on its host, by ``EVENT_NAMES``."""
    return dict.fromkeys(EVENT_NAMES) | {
        "at": life.ended_at,
        "kind": TASKMANAGER_LOST,
        "cluster": life.cluster,
        "host": life.host,
        "taskmanager_id": life.taskmanager_id,
        "detail": localised(reason_of(vars(life))),
        "subject": life.taskmanager_id,
    }
