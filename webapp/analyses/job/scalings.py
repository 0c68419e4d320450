"""What the autoscaler of the Flink Kubernetes Operator did to a job."""

from datetime import timedelta

from ingest.messages import message
from spark_jobs.diagnosis.samples import Annotation
from spark_jobs.diagnosis.samples import JobStart as Start
from spark_jobs.diagnosis.scalings import (
    CLOCK_MS,
    INEFFECTIVE,
    REPORT,
    RESTARTS_WITHIN_MS,
    Scaling,
    scalings,
)
from webapp.analyses.declaration import analysis
from webapp.analyses.document import Column, Document, Inputs, Table, Verdict
from webapp.fleet.models import JobAnnotation, JobCurrent, JobStart
from webapp.lib.instants import epoch_ms, instant_of

MOST_REPORTS = 200


@analysis(
    "scalings",
    title="Scalings",
    summary="what the autoscaler changed and why, what it cost, and what did not help",
    tab="runtime",
    in_report=True,
)
def scalings_of(job: JobCurrent, inputs: Inputs) -> Document:
    found = _scalings(job, inputs)
    if not found:
        return Document(Verdict("unknown", "No scaling of the autoscaler was seen in this time."))
    ineffective = sum(scaling.was_ineffective for scaling in found)
    sentence = message(
        "The autoscaler scaled vertices {scalings:count} times; {ineffective:count} did not help.",
        scalings=len(found),
        ineffective=ineffective,
    )
    table = Table.of(
        found[::-1],
        "scalings",
        "Scalings of vertices",
        (
            Column("at", "When", "instant", value=lambda scaling: instant_of(scaling.at_ms)),
            Column(
                "vertex", "Vertex", value=lambda scaling: job.given_names.get(scaling.vertex_id)
            ),
            Column("vertex_id", "Id", "mono"),
            Column("from", "From", "number", value="before"),
            Column("to", "To", "number", value="after"),
            Column("target_per_s", "Target rate", "per_s", "what it shall process"),
            Column("capacity_per_s", "Capacity before", "per_s", "as the autoscaler measured it"),
            Column("expected_per_s", "Capacity expected", "per_s"),
            Column("lost_ms", "Time lost", "ms", "until all tasks ran again; empty: not seen"),
            Column("was_ineffective", "Did not help", "flag"),
            Column("gain_per_s", "Gain", "per_s", "measured afterwards, if it did not help"),
        ),
        note="A redeployment costs more than the time lost: the savepoint before it is not counted.",
    )
    return Document(Verdict("warn" if ineffective else "ok", sentence), (table,))


def _scalings(job: JobCurrent, inputs: Inputs) -> list[Scaling]:
    marks = JobAnnotation.objects.filter(
        **job.identity,
        kind="operator",
        subject__in=(REPORT, INEFFECTIVE),
        at__range=(inputs.since, inputs.until),
    )
    within = timedelta(milliseconds=CLOCK_MS), timedelta(milliseconds=RESTARTS_WITHIN_MS)
    starts = JobStart.objects.filter(
        **job.identity, at__range=(inputs.since - within[0], inputs.until + within[1])
    ).order_by("at")
    return scalings(
        [
            Annotation(epoch_ms(mark.at), mark.kind, mark.subject, mark.detail or {})
            for mark in marks.order_by("-at")[:MOST_REPORTS]
        ],
        [
            Start(epoch_ms(start.at), start.kind, epoch_ms(start.running_at), start.total_ms)
            for start in starts
        ],
    )
