"""One job of a document as Markdown."""

from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext

from webapp.lib.filters import words
from webapp.lib.instants import clock_text, day_and_clock_text, instant_text
from webapp.lib.messages.rendering import localised
from webapp.lib.outage import Outage
from webapp.lib.quantities import bytes_text, count_text, duration_text
from webapp.reports.document import JobStory, ReportedMissingFile, ReportedStart
from webapp.reports.presentation import PresentedReport
from webapp.reports.renderers.markdown_parts import (
    block,
    code,
    part,
    plain,
    shown_table,
    table,
    text,
)

MOST_EXCERPTS = 12


def job_lines(story: JobStory, about: PresentedReport) -> Iterator[str]:
    yield gettext("## Job %(name)s") % {"name": plain(story.name)}
    yield ""
    yield gettext("* `%(job_id)s` on %(cluster)s, Flink %(version)s, %(state)s") % {
        "job_id": code(story.job_id),
        "cluster": plain(story.cluster),
        "version": plain(story.flink_version or "–"),
        "state": plain(words(story.state.lower()) if story.state else gettext("state unknown")),
    }
    lived = {
        "start": instant_text(story.started_at),
        "end": instant_text(story.ended_at or story.last_seen_at),
    }
    yield gettext("* lived %(start)s – %(end)s") % lived
    yield gettext("* restarts: %(count)s") % {"count": count_text(story.restarts)}
    outcomes = ", ".join(
        f"{count_text(count)} {words(outcome)}"
        for outcome, count in story.checkpoints.by_outcome.items()
    )
    yield gettext("* checkpoints: %(outcomes)s") % {"outcomes": outcomes or gettext("none ended")}
    if story.counters:
        at = instant_text(story.counters.at)
        yield gettext("* Flink's counters at %(at)s: %(counted)s; Weir knew then:") % {
            "at": at,
            "counted": _counted(story.counters.flink),
        }
        yield f"  {_counted(story.counters.weir)}. {text(story.counters.why)}"
    for exception in story.exceptions:
        thrown = {
            "name": plain(exception.name),
            "task": text(exception.task),
            "at": instant_text(exception.at),
        }
        more = gettext(", and %(more)s more") % {"more": exception.more} if exception.more else ""
        yield gettext("* exception %(name)s in %(task)s, %(at)s") % thrown + more
    yield ""
    if story.outages:
        columns = (
            gettext("Began (UTC)"),
            gettext("Down"),
            gettext("Restarts"),
            gettext("Parts"),
            gettext("Processed again"),
        )
        yield from table(gettext("Outages"), columns, [_outage(outage) for outage in story.outages])
    if story.starts:
        phases = (
            gettext("Scheduled (UTC)"),
            gettext("Kind"),
            gettext("Whole"),
            gettext("Usually"),
            gettext("Parts"),
            gettext("Tasks"),
            gettext("Held up"),
        )
        yield from table(gettext("Starts"), phases, [_start(start) for start in story.starts])
    for lost in story.missing_files:
        yield from _missing(lost)
    for one_table in story.tables:
        yield from shown_table(one_table, about)
    if story.storage:
        rows = [
            (
                place.root,
                *map(bytes_text, (place.bytes, place.raw_bytes, place.orphan_bytes)),
                count_text(place.missing_files),
            )
            for place in story.storage
        ]
        columns = (
            gettext("Root"),
            gettext("Bytes"),
            gettext("Raw"),
            gettext("Orphaned"),
            gettext("Missing files"),
        )
        yield from table(gettext("Checkpoint storage"), columns, rows)
    if story.logs:
        excerpts = [
            f"{clock_text(line.at)} {line.level} {line.text}"
            + (gettext("  (and %(more)s more like it)") % {"more": line.more} if line.more else "")
            for line in story.logs
        ]
        yield from part(gettext("Log excerpts"), block(excerpts[:MOST_EXCERPTS]))
    if story.configuration:
        yield from part(
            gettext("Configuration"), block(f"{key}: {value}" for key, value in story.configuration)
        )


def _missing(lost: ReportedMissingFile) -> Iterator[str]:
    yield gettext("* missing file `%(path)s`: %(summary)s In the directory of %(owner)s,") % {
        "path": code(lost.path),
        "summary": text(lost.summary),
        "owner": plain(lost.owner or gettext("no known job")),
    }
    yield gettext(
        "  needed by %(snapshots)s snapshots; last listed %(listed)s, gone by %(gone)s"
    ) % {
        "snapshots": count_text(lost.snapshots),
        "listed": instant_text(lost.last_listed),
        "gone": instant_text(lost.gone_by),
    }
    yield ""
    causes = [[localised(cell) for cell in row] for row in lost.causes]
    yield from table(
        gettext("What may have deleted it"),
        (gettext("Cause"), gettext("Verdict"), gettext("Why")),
        causes,
    )


def _outage(outage: Outage) -> tuple[str, ...]:
    is_known = outage.downtime_ms is not None or outage.at_least_ms is None
    down = (
        duration_text(outage.downtime_ms)
        if is_known
        else gettext("at least %(ms)s") % {"ms": duration_text(outage.at_least_ms)}
    )
    return (
        day_and_clock_text(outage.at),
        down,
        count_text(outage.restarts),
        _parts(outage.parts),
        duration_text(outage.reprocessed_ms),
    )


def _start(start: ReportedStart) -> tuple[str, ...]:
    held_up = {"ms": duration_text(start.held_up_ms), "task": start.held_up_by}
    by = gettext("%(ms)s by %(task)s") % held_up if start.held_up_by else "–"
    took = duration_text(start.total_ms), duration_text(start.usual_ms)
    return (
        day_and_clock_text(start.at),
        localised(start.kind),
        *took,
        _parts(start.parts),
        count_text(start.tasks),
        by,
    )


def _parts(parts: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{words(name)} {duration_text(ms)}" for name, ms in parts) or "–"


def _counted(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{count_text(count)} {words(name)}" for name, count in counts)
