from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext

from webapp.fleet.attempts import ALL, THIS, attempt_ids, like, with_id
from webapp.fleet.badges import HEALTH_GROUPS
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS, ClusterKind
from webapp.fleet.log_kinds import ROUTINE_KINDS
from webapp.fleet.models import Cluster
from webapp.fleet.sorting import FLEET_SORTS, WORST_FIRST, Sort
from webapp.lib.filter_sets import SORT, ListFilters, OfJob
from webapp.lib.keysets import KeysetColumn, newest_first
from webapp.lib.matchers import BadMatcher, Matcher, match_each, parse_lines
from webapp.lib.query_parameters import Choice, Parameter, Text, Whole


class NoFilter(Choice):
    """A parameter that filters no rows: the list reads it."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        return qs


class ClusterLabels(Parameter):
    schema = Text.schema

    def read(self, text: str) -> tuple[Matcher, ...]:
        try:
            return parse_lines(text.replace(";", "\n"))
        except BadMatcher as error:
            raise ValueError(f"{error} Write several with semicolons between them.") from error

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if not value:
            return qs
        rows = [
            {**labels, "cluster": name}
            for name, labels in Cluster.objects.values_list("name", "labels")
        ]
        clusters = [
            row["cluster"]
            for row, matches in zip(rows, match_each(value, rows), strict=True)
            if matches
        ]
        return qs.filter(**{f"{self.field_name}__in": clusters})


LABEL = ClusterLabels(
    "cluster", about='of the cluster, such as team="payments"; as matchers of silences'
)


class ClusterFilters(ListFilters):
    kind = Choice(ClusterKind.values)
    label = ClusterLabels("name", about=LABEL.about)
    found_by = Text(about="the source that found it")
    q = Text("name", "icontains", about="part of the name")


class JobFilters(ListFilters):
    cluster = Text()
    label = LABEL
    state = Text(about="as Flink reports it, e.g. RUNNING")
    status = Text(method="filter_status", about="the state, UNKNOWN or UNWATCHED")
    q = Text(method="filter_q", about="part of the name, or how the id of the job begins")
    family = Text(about="its name with # for each number or date, such as orders-#")
    health = Choice(
        tuple(HEALTH_GROUPS), method="filter_health", about="as the fleet page groups them"
    )
    attempts = NoFilter(
        (ALL,),
        about="all: also the earlier attempts of jobs, each with its own id (default: the newest "
        "attempt of each job)",
    )
    sort = NoFilter(
        [f"{sign}{name}" for name in FLEET_SORTS for sign in ("", "-")],
        about="- turns the order round",
    )

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.form.cleaned_data.get("attempts") != ALL:
            queryset = queryset.filter(is_newest_attempt=True)
        return super().filter_queryset(queryset)

    def filter_status(self, jobs: QuerySet[Any], name: str, status: str) -> QuerySet[Any]:
        matching = jobs.filter(status=status)
        if status not in (UNKNOWN_STATUS, UNWATCHED_STATUS):
            # The reported state is indexed; the status is derived from it job by job.
            matching = matching.alias(reported=FLEET_SORTS["state"].key).filter(reported=status)
        return matching

    def filter_q(self, jobs: QuerySet[Any], name: str, text: str) -> QuerySet[Any]:
        return jobs.filter(like(text))

    def filter_health(self, jobs: QuerySet[Any], name: str, group: str) -> QuerySet[Any]:
        return jobs.filter(HEALTH_GROUPS[group].condition)

    @property
    def sorting(self) -> tuple[Sort, bool]:
        sort: str = self.values.get(SORT, "")
        if sort:
            return FLEET_SORTS[sort.removeprefix("-")], sort.startswith("-")
        return WORST_FIRST, WORST_FIRST.descending

    @property
    def keys(self) -> tuple[KeysetColumn, KeysetColumn]:
        sort, descending = self.sorting
        return KeysetColumn("sort_key", descending, sort.key), KeysetColumn("id", descending)


class JobEventFilters(ListFilters):
    kind = Text(method="filter_kind")
    order = newest_first("ts")
    defaults = {"kind": "notable"}

    def filter_kind(self, events: QuerySet[Any], name: str, kind: str) -> QuerySet[Any]:
        if kind == "notable":
            return events.exclude(kind__in=ROUTINE_KINDS)
        return events if kind == "all" else events.filter(kind=kind)


class OfAnyAttempt(OfJob):
    """``job_id`` is the id of any attempt of the job."""

    job_id = Text(
        method="filter_job_id",
        about="any id of the job, whichever of its attempts it was seen on; also taken as job",
    )

    def filter_job_id(self, rows: QuerySet[Any], name: str, job_id: str) -> QuerySet[Any]:
        return rows.filter(with_id(job_id))


class OfAttempts(OfJob):
    """Rows of an attempt, or with ``attempts=all`` of all attempts of its job."""

    attempts = NoFilter(
        (ALL, THIS),
        about="all: also rows of the other attempts of this cluster's job_id (default: this)",
    )

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        cleaned = self.form.cleaned_data
        if cleaned.get("attempts") != ALL:
            return super().filter_queryset(queryset)
        rows = queryset.filter(job_id__in=attempt_ids(cleaned["cluster"], cleaned["job_id"]))
        for name, value in cleaned.items():
            if name != "job_id":
                rows = self.filters[name].filter(rows, value)
        return rows

    def is_valid(self) -> bool:
        is_valid: bool = super().is_valid()
        cleaned = self.form.cleaned_data
        names_job = cleaned.get("cluster") and cleaned.get("job_id")
        if is_valid and cleaned.get("attempts") == ALL and not names_job:
            self.form.add_error(
                "attempts", gettext("Give cluster and job_id, too: attempts are of one job.")
            )
            return False
        return is_valid


class LogEventFilters(OfAttempts):
    kind = Text()
    checkpoint_id = Whole()
    time_field = "ts"


class ExceptionFilters(OfAttempts):
    time_field = "ts"


class AnnotationFilters(OfAttempts):
    kind = Text()
    time_field = "at"
