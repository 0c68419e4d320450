from spark_jobs.serving import HOST_EVENT_KINDS, TASKMANAGER_ENDS
from webapp.fleet.filters import LABEL
from webapp.lib.filter_sets import ListFilters, OfJob
from webapp.lib.keysets import KeysetColumn
from webapp.lib.query_parameters import Choice, Text


class HostEventFilters(OfJob):
    host = Text()
    label = LABEL
    kind = Choice(HOST_EVENT_KINDS)
    time_field = "at"


class TaskManagerLifeFilters(ListFilters):
    cluster = Text()
    label = LABEL
    host = Text()
    taskmanager_id = Text()
    ended_by = Choice(TASKMANAGER_ENDS)
    time_field = "ended_at"
    order = (KeysetColumn("id"),)


class JobHostFilters(OfJob):
    host = Text()
    label = LABEL
    order = (KeysetColumn("host"), KeysetColumn("cluster"), KeysetColumn("id"))


class HostsFilters(ListFilters):
    """Filters of all hosts, used as values by :mod:`webapp.hosts.lookup`."""

    cluster = Text()
    label = LABEL
    name = Text(about="part of the name of the host")
