"""A job before and after an event; without an instant, the events to choose from."""

from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from django.urls import reverse

from ingest.messages import brief, join_messages, message
from webapp.analyses.before_after.job_change import (
    DEFAULT,
    DIFFERS,
    HIGHER,
    LENGTHS,
    TOO_FEW,
    JobChange,
    Mark,
    Measure,
    Windows,
    job_change,
    marks_of,
)
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    Link,
    Note,
    NotKnown,
    Table,
    Unit,
    Verdict,
)
from webapp.fleet.models import JobCurrent
from webapp.lib.filter_sets import ListFilters
from webapp.lib.quantities import change_text
from webapp.lib.query_parameters import Choice, Instant
from webapp.lib.timeranges import iso_text
from webapp.lib.translations import gettext_lazy as _

NAME = "before-after"
LARGEST = 3
SCATTER = message(
    "A difference counts if chance is unlikely (one in a hundred), if it holds for most pairs "
    "of values, and if the medians differ by a tenth. Eight of ten values are between low and "
    "high."
)


class ChangeParameters(ListFilters):
    at = Instant(about=_("when it happened, ISO 8601 or as now-6h"))
    window = Choice(tuple(LENGTHS), about=_("time before and after, 1h if empty"))
    defaults = {"window": DEFAULT}


@analysis(
    NAME,
    title=message("Before and after"),
    summary=message("what differs of a job on both sides of something that happened to it"),
    tab="more",
    parameters=ChangeParameters,
)
def before_after(job: JobCurrent, inputs: Inputs) -> Document:
    values = inputs.parameters.values
    window = values.get("window", DEFAULT)
    if "at" not in values:
        choose = Verdict("unknown", message("Choose what happened, or give an instant."))
        return Document(choose, (_events(job, marks_of(job, inputs.since, inputs.until), window),))
    at = values["at"]
    change = job_change(job, at, LENGTHS[window], inputs.now)
    events = _events(job, (*change.marks, *change.others), window)
    unknown = [NotKnown(reason) for reason in change.unknown]
    if change.windows is None:
        return Document(_verdict(change), (*unknown, events))
    tables = list(_measures(change))
    blocks: tuple[Block, ...] = (
        events,
        _configuration(change),
        *tables,
        *([Note(SCATTER)] if tables else []),
        _tallies(change),
        _facts(job, change, change.windows),
        *unknown,
    )
    return Document(_verdict(change), blocks)


def _verdict(change: JobChange) -> Verdict:
    if change.windows is None:
        return Verdict("unknown", message("Nothing can be compared."))
    every = (*change.measures, *change.pressure)
    differs = [measure for measure in every if measure.comparison.state in DIFFERS]
    if not differs:
        if not change.measures or any(
            measure.comparison.state == TOO_FEW for measure in change.measures
        ):
            few = message("Too few checkpoints completed in these windows for a comparison.")
            return Verdict("unknown", few)
        return Verdict("ok", message("No difference exceeds the usual variation."))
    largest = sorted(differs, key=lambda measure: -abs(measure.comparison.change or 0))[:LARGEST]
    sentence = message(
        "{differ:count} of {measures:count} measures differ: {largest:message}.",
        differ=len(differs),
        measures=len(every),
        largest=join_messages(map(_name_of_measure, largest), "; "),
    )
    is_more = any(measure.comparison.state == HIGHER for measure in differs)
    return Verdict("warn" if is_more else "ok", sentence)


def _name_of_measure(measure: Measure) -> str:
    of = (
        message(
            "{measure:name} of {vertex:name}", measure=measure.name, vertex=brief(measure.vertex)
        )
        if measure.vertex
        else measure.name
    )
    by = change_text(measure.comparison.after.median, measure.comparison.before.median)
    return join_messages(
        (of, measure.comparison.state, by if measure.comparison.change is not None else ""), " "
    )


def _facts(job: JobCurrent, change: JobChange, span: Windows) -> Facts:
    query = {"from": iso_text(span.start), "to": iso_text(span.end), "attempts": "all"}
    page = f"{reverse('job', args=(job.cluster, job.job_id))}?{urlencode(query)}"
    facts = [
        Fact("before_from", message("Before, from"), span.start, "instant"),
        Fact("at", message("Until it happened"), span.at, "instant"),
        Fact("after_to", message("After, to"), span.end, "instant"),
        Fact("window_ms", message("Each side"), span.length.total_seconds() * 1000, "ms", span.cut),
        Fact("job_page", message("This time"), Link(message("on the job's page"), page)),
        Fact(
            "uploaded_before_bytes", message("Uploaded in all before"), change.uploaded[0], "bytes"
        ),
        Fact("uploaded_after_bytes", message("Uploaded in all after"), change.uploaded[1], "bytes"),
    ]
    if first := change.first:
        address = reverse("checkpoint-by-id", args=(job.cluster, first.job_id, first.checkpoint_id))
        number = Link(str(first.checkpoint_id), address)
        facts += [
            Fact(
                "first", message("First checkpoint that completed after it"), number, "checkpoint"
            ),
            Fact("first_end_to_end_ms", message("Its duration"), first.end_to_end_ms, "ms"),
            Fact("first_state_bytes", message("Its full state"), first.state_bytes, "bytes"),
            Fact(
                "first_uploaded_bytes", message("Uploaded by it"), first.checkpointed_bytes, "bytes"
            ),
        ]
    return Facts(tuple(facts))


def _events(job: JobCurrent, marks: Sequence[Mark], window: str) -> Table:
    page = reverse(NAME, args=(job.cluster, job.job_id))

    def link(mark: Mark) -> Link:
        return Link(mark.label, f"{page}?{urlencode({'at': iso_text(mark.at), 'window': window})}")

    return Table.of(
        marks,
        "events",
        message("What happened"),
        (
            Column("at", message("When"), "instant"),
            Column("what", message("What"), value=link),
            Column("kind", message("Kind"), value=lambda mark: mark.kind.replace("_", " ")),
            Column("job_id", message("Attempt"), "mono"),
        ),
        note=message("What else happened in both windows is in the figures, too."),
        empty=message(
            "No deploy, savepoint, restart or restore of this job is known in this time."
        ),
    )


def _measures(change: JobChange) -> Iterator[Table]:
    completed = message("of completed checkpoints without savepoints; medians")
    for key, title, unit in (
        ("durations", message("Durations"), "ms"),
        ("sizes", message("Sizes"), "bytes"),
    ):
        if own := [measure for measure in change.measures if measure.unit == unit]:
            yield _comparison_table(key, title, completed, own)
    if change.pressure:
        minutes = message("mean over subtasks, minute by minute; medians")
        yield _comparison_table("pressure", message("Pressure"), minutes, change.pressure)


def _comparison_table(key: str, title: str, subtitle: str, measures: Sequence[Measure]) -> Table:
    unit: Unit = measures[0].unit
    vertex = (
        (Column("vertex", message("Vertex")),)
        if any(measure.vertex for measure in measures)
        else ()
    )
    higher_in = message("share of all pairs of values in which the later value is larger")

    def row(measure: Measure) -> tuple[str | float | None, ...]:
        of, before, after = measure.comparison, measure.comparison.before, measure.comparison.after
        scatter = (before.low, before.high, after.low, after.high, before.count, after.count)
        own = (measure.vertex,) if vertex else ()
        return (
            measure.name,
            *own,
            of.state,
            before.median,
            after.median,
            of.change,
            of.above,
            *scatter,
        )

    ordered = sorted(
        measures, key=lambda measure: (measure.comparison.state not in DIFFERS, measure.vertex)
    )
    return Table(
        key,
        title,
        (
            Column("measure", message("Measure")),
            *vertex,
            Column("state", message("Difference")),
            Column("before", message("Before"), unit),
            Column("after", message("After"), unit),
            Column("change", message("Change of medians"), "share"),
            Column("above", message("Higher in"), "share", higher_in),
            Column("before_low", message("Before, low"), unit),
            Column("before_high", message("Before, high"), unit),
            Column("after_low", message("After, low"), unit),
            Column("after_high", message("After, high"), unit),
            Column("before_count", message("Values before"), "count"),
            Column("after_count", message("Values after"), "count"),
        ),
        tuple(map(row, ordered)),
        subtitle=subtitle,
    )


def _configuration(change: JobChange) -> Block:
    if change.changes is None:
        if change.before and change.after:
            return Note(
                message(
                    "It is the same attempt: Flink does not change its settings; a rescale is in "
                    "what happened."
                )
            )
        return NotKnown(
            message("Settings are not compared: only one attempt of this job is known.")
        )
    return Table.of(
        change.changes,
        "configuration",
        message("Configured otherwise"),
        (
            Column("name", message("Setting"), "mono"),
            Column("of", message("Setting of")),
            Column("before", message("Before")),
            Column("after", message("After")),
        ),
        empty=message(
            "Settings, checkpoint settings, release, parallelism and vertices are the same."
        ),
    )


def _tallies(change: JobChange) -> Table:
    return Table.of(
        change.tallies,
        "counts",
        message("How often"),
        (
            Column("what", message("What"), value="name"),
            Column("before", message("Before"), "count"),
            Column("after", message("After"), "count"),
        ),
    )
