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
    UNKNOWN,
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
COUNTS_IF = message(
    "A difference counts if chance is unlikely (one in a hundred), if it holds for most pairs "
    "of values, and if the medians differ by a tenth."
)


class ChangeParameters(ListFilters):
    at = Instant(about=_("when it happened, ISO 8601 or as now-6h"))
    window = Choice(tuple(LENGTHS), about=_("time before and after, 1h if empty"))
    defaults = {"window": DEFAULT}


@analysis(
    NAME,
    title="Before and after",
    summary="what differs of a job on both sides of something that happened to it",
    tab="more",
    parameters=ChangeParameters,
)
def before_after(job: JobCurrent, inputs: Inputs) -> Document:
    values = inputs.parameters.values
    window = values.get("window", DEFAULT)
    if "at" not in values:
        choose = Verdict("unknown", "Choose what happened, or give an instant.")
        return Document(choose, (_events(job, marks_of(job, inputs.since, inputs.until), window),))
    at = values["at"]
    change = job_change(job, at, LENGTHS[window], inputs.now)
    events = _events(job, (*change.marks, *change.other_marks), window)
    unknown = [NotKnown(reason) for reason in change.unknown]
    if change.windows is None:
        return Document(_verdict(change), (*unknown, events))
    tables = list(_measures(change))
    blocks: tuple[Block, ...] = (
        events,
        _configuration(change),
        *tables,
        *([Note(COUNTS_IF)] if tables else []),
        _tallies(change),
        _facts(job, change, change.windows),
        *unknown,
    )
    return Document(_verdict(change), blocks)


def _verdict(change: JobChange) -> Verdict:
    if change.windows is None:
        return Verdict("unknown", "Nothing can be compared.")
    measures = (*change.measures, *change.pressure)
    differing = [measure for measure in measures if measure.comparison.state in DIFFERS]
    if not differing:
        states = [measure.comparison.state for measure in change.measures]
        if not states or TOO_FEW in states:
            return Verdict(
                "unknown",
                "Too few checkpoints completed in these windows for a comparison.",
            )
        if change.pressure and all(m.comparison.state == UNKNOWN for m in change.pressure):
            return Verdict("unknown", "Checkpoints do not differ unusually; pressure is not known.")
        return Verdict("ok", "No difference exceeds the usual variation.")
    differing.sort(key=lambda measure: -abs(measure.comparison.change or 0))
    sentence = message(
        "{differ:count} of {measures:count} measures differ: {largest:message}.",
        differ=len(differing),
        measures=len(measures),
        largest=join_messages(map(_difference, differing[:LARGEST]), "; "),
    )
    is_more = any(measure.comparison.state == HIGHER for measure in differing)
    return Verdict("warn" if is_more else "ok", sentence)


def _difference(measure: Measure) -> str:
    name, comparison = measure.name, measure.comparison
    if measure.vertex:
        name = message(
            "{measure:name} of {vertex:name}", measure=name, vertex=brief(measure.vertex)
        )
    by = (
        ""
        if comparison.change is None
        else change_text(comparison.after.median, comparison.before.median)
    )
    return join_messages((name, comparison.state, by), " ")


def _facts(job: JobCurrent, change: JobChange, span: Windows) -> Facts:
    query = {"from": iso_text(span.start), "to": iso_text(span.end), "attempts": "all"}
    page = reverse("job", args=job.key, query=query)
    facts = [
        Fact("at", "At", span.at, "instant"),
        Fact("window_ms", "Each side", span.length.total_seconds() * 1000, "ms", span.cut),
        Fact("job_page", "This time", Link(message("on the job's page"), page)),
    ]
    if first := change.first:
        address = reverse("checkpoint-by-id", args=(job.cluster, first.job_id, first.checkpoint_id))
        number = Link(str(first.checkpoint_id), address)
        facts += [
            Fact("first", "First checkpoint that completed after it", number, "checkpoint"),
            Fact("first_end_to_end_ms", "Its duration", first.end_to_end_ms, "ms"),
            Fact("first_uploaded_bytes", "Uploaded by it", first.checkpointed_bytes, "bytes"),
        ]
    return Facts(tuple(facts))


def _events(job: JobCurrent, marks: Sequence[Mark], window: str) -> Table:
    page = reverse(NAME, args=job.key)

    def link(mark: Mark) -> Link:
        return Link(mark.label, f"{page}?{urlencode({'at': iso_text(mark.at), 'window': window})}")

    return Table.of(
        marks,
        "events",
        "What happened",
        (
            Column("at", "When", "instant"),
            Column("what", "What", value=link),
            Column("kind", "Kind", value=lambda mark: mark.kind.replace("_", " ")),
            Column("job_id", "Attempt", "mono"),
        ),
        note="What else happened in both windows is in the figures, too.",
        empty="No deploy, savepoint, restart or restore of this job is known in this time.",
    )


def _measures(change: JobChange) -> Iterator[Table]:
    completed = message("of completed checkpoints without savepoints; medians")
    for key, title, unit in (
        ("durations", message("Durations"), "ms"),
        ("sizes", message("Sizes"), "bytes"),
    ):
        if unit_measures := [measure for measure in change.measures if measure.unit == unit]:
            yield _comparison_table(key, title, completed, unit_measures)
    if change.pressure:
        minutes = message("mean over subtasks, minute by minute; medians")
        yield _comparison_table("pressure", message("Pressure"), minutes, change.pressure)


def _comparison_table(key: str, title: str, subtitle: str, measures: Sequence[Measure]) -> Table:
    unit: Unit = measures[0].unit
    has_vertices = any(measure.vertex for measure in measures)
    vertex = (Column("vertex", "Vertex"),) if has_vertices else ()
    return Table.of(
        sorted(
            measures, key=lambda measure: (measure.comparison.state not in DIFFERS, measure.vertex)
        ),
        key,
        title,
        (
            Column("measure", "Measure", value="name"),
            *vertex,
            Column("state", "Difference", value="comparison.state"),
            Column("before", "Before", unit, value="comparison.before.median"),
            Column("after", "After", unit, value="comparison.after.median"),
            Column("change", "Change of medians", "share", value="comparison.change"),
            Column("before_count", "Values before", "count", value="comparison.before.count"),
            Column("after_count", "Values after", "count", value="comparison.after.count"),
        ),
        subtitle=subtitle,
    )


def _configuration(change: JobChange) -> Block:
    if change.changes is None:
        if change.before and change.after:
            if change.attempts > 1:
                return NotKnown(
                    "Settings are not compared: at this instant one attempt ran, and others are in "
                    "the windows. Choose one of the events, or shorter windows."
                )
            return Note(
                "It is the same attempt: Flink does not change its settings; a rescale is in "
                "what happened."
            )
        return NotKnown("Settings are not compared: only one attempt of this job is known.")
    return Table.of(
        change.changes,
        "configuration",
        "Configured otherwise",
        (
            Column("name", "Setting", "mono"),
            Column("of", "Setting of", value="section"),
            Column("before", "Before"),
            Column("after", "After"),
        ),
        empty="Settings, checkpoint settings, release, parallelism and vertices are the same.",
    )


def _tallies(change: JobChange) -> Table:
    return Table.of(
        change.tallies,
        "counts",
        "How often",
        (
            Column("what", "What", value="name"),
            Column("before", "Before", "count"),
            Column("after", "After", "count"),
        ),
    )
