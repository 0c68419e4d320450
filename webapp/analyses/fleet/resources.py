from collections.abc import Sequence

from django.urls import reverse
from django.utils.translation import gettext

from ingest.messages import list_text, message, plural
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    Link,
    NotKnown,
    Table,
    Verdict,
)
from webapp.analyses.resources.job_resources import (
    CLUSTER,
    FleetResources,
    Group,
    JobResources,
    groupings,
    look_up_fleet,
)
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Text
from webapp.lib.translations import gettext_lazy as _

UNREADABLE = message("The lake could not be read")
UNREADABLE_TEXT = message("The server's log has the reason.")
MOST_FIRST = message("most unused memory first")
NO_JOB = message("No job has slots on a TaskManager that was sampled.")


class Grouping(Text):
    """Labels of clusters are only known at the time of the request."""

    @property
    def choices(self) -> Sequence[str]:  # type: ignore[override]  # read late
        return groupings()

    def read(self, text: str) -> str:
        choices = self.choices
        if text not in choices:
            raise ValueError(gettext("Give one of %(choices)s.") % {"choices": ", ".join(choices)})
        return text


class ResourcesFilters(ListFilters):
    by = Grouping(about=_("by cluster, or by a label of clusters"))


@analysis(
    "resources",
    subject="fleet",
    title="Resources",
    summary="memory, CPU and slots of all jobs on their TaskManagers, and what of them is not used",
    parameters=ResourcesFilters,
    is_slow=True,
)
def resources(inputs: Inputs) -> Document:
    fleet = look_up_fleet(inputs.until, inputs.parameters.values.get("by", CLUSTER))
    if fleet is None:
        return Document(Verdict("unknown", UNREADABLE), (NotKnown(UNREADABLE_TEXT),))
    facts = _facts(fleet)
    if not fleet.jobs:
        return Document(Verdict("unknown", NO_JOB), (facts,))
    return Document(_verdict(fleet), (facts, _groups(fleet), _jobs(fleet)))


def _verdict(fleet: FleetResources) -> Verdict:
    tight = sum(group.tight for group in fleet.groups)
    saving = message(
        "{unused:bytes} of the {memory:bytes} of these jobs were not used in the last hour; what "
        "of it could be saved, the page of each job shows after a day with a peak.",
        unused=sum(group.unused_bytes for group in fleet.groups),
        memory=sum(group.memory_bytes for group in fleet.groups),
    )
    if not tight:
        return Verdict(
            "ok",
            message("No job is close to a limit of its memory. {saving:message}", saving=saving),
        )
    return Verdict(
        "warn",
        plural(
            tight,
            "{jobs:count} job is close to a limit of its memory. {saving:message}",
            "{jobs:count} jobs are close to a limit of their memory. {saving:message}",
            jobs=tight,
            saving=saving,
        ),
    )


def _facts(fleet: FleetResources) -> Facts:
    return Facts(
        (
            Fact("taskmanagers", "TaskManagers", fleet.taskmanagers, "count"),
            Fact("idle_slots", "Slots that no job has", fleet.idle_slots, "count"),
            Fact(
                "idle_bytes",
                "Memory of these slots",
                fleet.idle_bytes,
                "bytes",
                "their share of the processes",
            ),
            Fact("since", "Samples from", fleet.since, "instant"),
        )
    )


def _groups(fleet: FleetResources) -> Table:
    return Table.of(
        fleet.groups,
        "groups",
        "Groups",
        (
            Column("group", "Group", value="name"),
            Column("jobs", "Jobs", "count"),
            Column("tight", "Close to a limit", "count"),
            *FIGURES,
        ),
        subtitle=MOST_FIRST,
        note=(
            "Sums over the jobs with known values, by samples of the last hour. The memory of a job "
            "is its share of its TaskManager processes, by slots in use. Free slots count for the "
            "jobs on the same TaskManager. Jobs on Flink before 1.13 are left out, because it does "
            "not report which job uses a slot."
        ),
    )


def _jobs(fleet: FleetResources) -> Table:
    names = {(job.cluster, job.job_id): name for name, job in fleet.jobs}

    def link(job: JobResources) -> Link:
        key = (job.cluster, job.job_id)
        return Link(names[key], reverse("resources", args=key))

    return Table.of(
        [job for _, job in fleet.jobs],
        "jobs",
        "Jobs",
        (
            Column("job", "Job", value=link),
            Column("cluster", "Cluster"),
            *FIGURES,
            Column(
                "tight",
                "Close to a limit",
                value=lambda job: list_text(part.name for part in job.tight) if job.tight else "",
            ),
        ),
        subtitle=MOST_FIRST,
    )


def _cores(key: str, name: str) -> Column:
    def read(figures: JobResources | Group) -> float | None:
        cores: float | None = getattr(figures, key)
        return None if cores is None else round(cores, 2)

    return Column(key, name, "number", "cores", read)


FIGURES = (
    Column("slots", "Slots", "count"),
    Column("memory_bytes", "Memory", "bytes"),
    Column("unused_bytes", "Not used", "bytes"),
    _cores("cpu_allotted", message("CPU of slots")),
    _cores("cpu_used", message("CPU used")),
)
