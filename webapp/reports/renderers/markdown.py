"""A document as Markdown, for tickets, in the language that is active: short, no HTML, and every word of other people escaped."""

import re
from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext

from webapp.lib.filters import words
from webapp.lib.instants import clock_text, day_and_clock_text, instant_text
from webapp.lib.outage import Outage
from webapp.lib.quantities import bytes_text, count_text, duration_text
from webapp.reports.document import Document, JobStory, Moment, Point, ReportedFinding, ReportedMissingFile, ReportedStart, Table
from webapp.reports.presentation import PresentedReport, shown
from webapp.wording.filters import names_of
from webapp.wording.translation import translated

MOST_MOMENTS, MOST_EXCERPTS = 60, 12
_MARKS = {"crit": "✕", "warn": "◆", "ok": "●", "done": "■"}


def plain(text: object) -> str:
    """One line that no reader of Markdown takes for more than words."""
    line = " ".join(str(text).split()).replace("&", "&amp;")
    escaped = re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", line)
    # References to people and addresses are made from bare words; a zero-width space keeps them words.
    escaped = re.sub(r"@(?=\w)", "@\u200b", escaped)
    escaped = re.sub(r"(?i)\b(https?|ftp|www)(?=[:.])", lambda match: f"{match[1]}\u200b", escaped)
    if re.match(r"[#=+-]", escaped):
        return f"\\{escaped}"
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", escaped)


def told(text: object, of: object = None) -> str:
    """A sentence of the document in the language that is active; ``of``: what has the names that it may hold."""
    return plain(translated(str(text), names_of(of)))


def render(document: Document) -> str:
    return "\n".join(_lines(document)).rstrip() + "\n"


def _lines(document: Document) -> Iterator[str]:
    about, summary = shown(document), document.summary
    yield f"# {told(document.title, about)}"
    yield ""
    yield f"{about.verdict.shape} **{about.verdict.word}** · {instant_text(document.start)} – {instant_text(document.end)}"
    yield ""
    yield from _part(
        gettext("What happened"), [f"**{told(summary.headline, about)}**", *(told(line, about) for line in summary.happened)], gap=True
    )
    yield from _part(gettext("When"), [told(summary.when)], gap=True)
    yield from _part(gettext("Why"), [_point(point, about) for point in summary.cause], gap=True)
    yield from _part(gettext("What it cost"), [f"* {told(line, about)}" for line in summary.impact])
    yield from _part(gettext("What to do"), [f"{number}. {_point(point, about)}" for number, point in enumerate(summary.actions, 1)])
    yield from _timeline(document, about)
    if about.notable:
        yield from _part(gettext("Findings"), [line for finding, _badge in about.notable for line in _finding(finding)])
    if document.alerts:
        rows = [
            (
                translated(alert.title, names_of(about)),
                words(alert.state),
                day_and_clock_text(alert.fired_at),
                day_and_clock_text(alert.resolved_at),
                alert.acknowledged_by or "–",
            )
            for alert in document.alerts
        ]
        yield from _table(
            gettext("Alerts"),
            (gettext("Alert"), gettext("State"), gettext("Fired (UTC)"), gettext("Resolved (UTC)"), gettext("Acknowledged by")),
            rows,
        )
    for table in document.tables:
        yield from _of_table(table, about)
    for story, _badge in about.jobs:
        yield from _job(story, about)
    yield from _part(
        gettext("Sources"),
        [f"* {told(one.name, about)}: {instant_text(one.as_of)}{f' ({told(one.note)})' if one.note else ''}" for one in document.sources],
    )
    yield from _part(gettext("Not known"), [f"* {told(line, about)}" for line in (*document.unknowns, *document.cut)])
    yield gettext("Made by Weir for %(made_by)s, %(made_at)s. Report `%(uid)s`.") % {
        "made_by": plain(document.made_by),
        "made_at": instant_text(document.made_at),
        "uid": document.uid,
    }


def _point(point: Point, about: PresentedReport) -> str:
    return gettext("**%(lead)s.** %(text)s") % {"lead": told(point.lead, about), "text": told(point.text, about)}


def _of_table(table: Table, about: PresentedReport) -> Iterator[str]:
    names = names_of(about)
    rows = [[translated(cell, names) for cell in row] for row in table.rows]
    note, empty = translated(table.note, names), translated(table.empty)
    yield from _table(translated(table.title), [translated(one) for one in table.columns], rows, empty, note)


def _part(title: str, lines: Iterable[str], *, gap: bool = False) -> Iterator[str]:
    rest = list(lines)
    if not rest:
        return
    yield f"## {title}"
    yield ""
    for line in rest:
        yield line
        if gap:
            yield ""
    if not gap:
        yield ""


def _timeline(document: Document, about: PresentedReport) -> Iterator[str]:
    if not document.timeline:
        return
    shown_moments = document.timeline[:MOST_MOMENTS]
    rows = [(_at(one), f"{_MARKS.get(one.tone, '■')} {_said(one, about)}") for one in shown_moments]
    yield from _table(gettext("Time line"), ("UTC", gettext("What")), rows)
    if len(document.timeline) > MOST_MOMENTS:
        more = len(document.timeline) - MOST_MOMENTS
        yield gettext("And %(more)s more moments, in the other forms of this report.") % {"more": more}
        yield ""


def _at(moment: Moment) -> str:
    return day_and_clock_text(moment.at) + (f" – {clock_text(moment.until)}" if moment.until else "")


def _said(moment: Moment, about: PresentedReport) -> str:
    job = f" ({moment.job_name})" if about.several and moment.job_name else ""
    names = names_of(about)
    return " · ".join(filter(None, (translated(moment.title, names) + job, translated(moment.detail, names))))


def _finding(finding: ReportedFinding) -> Iterator[str]:
    yield f"### {told(finding.title, finding)}"
    yield ""
    seen = f"{day_and_clock_text(finding.first_seen)} – {day_and_clock_text(finding.last_seen)} UTC"
    yield gettext("%(severity)s, confidence %(confidence)s, `%(rule)s`, %(seen)s") % {
        "severity": gettext(finding.severity),
        "confidence": translated(finding.confidence),
        "rule": finding.rule,
        "seen": seen,
    }
    yield ""
    yield told(finding.cause, finding)
    yield ""
    for figure in finding.figures:
        compared = f" ({told(figure.compared, finding)})" if figure.compared else ""
        note = f", {told(figure.note, finding)}" if figure.note else ""
        yield f"* {told(figure.name, finding)}: **{told(figure.value, finding)}**{compared}{note}"
    yield ""
    yield f"**{gettext('Next:')}** {told(finding.next_step, finding)}"
    yield ""


def _counted(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{count_text(count)} {words(name)}" for name, count in counts)


def _job(story: JobStory, about: PresentedReport) -> Iterator[str]:
    yield gettext("## Job %(name)s") % {"name": plain(story.name)}
    yield ""
    yield gettext("* `%(job_id)s` on %(cluster)s, Flink %(version)s, %(state)s") % {
        "job_id": _code(story.job_id),
        "cluster": plain(story.cluster),
        "version": plain(story.flink_version or "–"),
        "state": plain(words(story.state.lower()) if story.state else gettext("state unknown")),
    }
    lived = {"start": instant_text(story.started_at), "end": instant_text(story.ended_at or story.last_seen_at)}
    yield gettext("* lived %(start)s – %(end)s") % lived
    yield gettext("* restarts: %(count)s") % {"count": count_text(story.restarts)}
    outcomes = ", ".join(f"{count_text(count)} {words(outcome)}" for outcome, count in story.checkpoints.by_outcome.items())
    yield gettext("* checkpoints: %(outcomes)s") % {"outcomes": outcomes or gettext("none ended")}
    if story.counters:
        at = instant_text(story.counters.at)
        yield gettext("* Flink's counters at %(at)s: %(counted)s; Weir knew then:") % {"at": at, "counted": _counted(story.counters.flink)}
        yield f"  {_counted(story.counters.weir)}. {told(story.counters.why)}"
    for one in story.exceptions:
        thrown = {"name": plain(one.name), "task": told(one.task), "at": instant_text(one.at)}
        more = gettext(", and %(more)s more") % {"more": one.more} if one.more else ""
        yield gettext("* exception %(name)s in %(task)s, %(at)s") % thrown + more
    yield ""
    if story.outages:
        columns = (gettext("Began (UTC)"), gettext("Down"), gettext("Restarts"), gettext("Parts"), gettext("Processed again"))
        yield from _table(gettext("Outages"), columns, [_outage(one) for one in story.outages])
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
        yield from _table(gettext("Starts"), phases, [_start(one) for one in story.starts])
    for lost in story.missing_files:
        yield from _missing(lost)
    for table in story.tables:
        yield from _of_table(table, about)
    if story.storage:
        rows = [
            (place.root, *map(bytes_text, (place.bytes, place.raw_bytes, place.orphan_bytes)), count_text(place.missing_files))
            for place in story.storage
        ]
        columns = (gettext("Root"), gettext("Bytes"), gettext("Raw"), gettext("Orphaned"), gettext("Missing files"))
        yield from _table(gettext("Checkpoint storage"), columns, rows)
    if story.logs:
        excerpts = [
            f"{clock_text(line.at)} {line.level} {line.text}"
            + (gettext("  (and %(more)s more like it)") % {"more": line.more} if line.more else "")
            for line in story.logs
        ]
        yield from _part(gettext("Log excerpts"), _block(excerpts[:MOST_EXCERPTS]))
    if story.configuration:
        yield from _part(gettext("Configuration"), _block(f"{key}: {value}" for key, value in story.configuration))


def _missing(lost: ReportedMissingFile) -> Iterator[str]:
    yield gettext("* missing file `%(path)s`: %(summary)s In the directory of %(owner)s,") % {
        "path": _code(lost.path),
        "summary": told(lost.summary),
        "owner": plain(lost.owner or gettext("no known job")),
    }
    yield gettext("  needed by %(snapshots)s snapshots; last listed %(listed)s, gone by %(gone)s") % {
        "snapshots": count_text(lost.snapshots),
        "listed": instant_text(lost.last_listed),
        "gone": instant_text(lost.gone_by),
    }
    yield ""
    causes = [[translated(cell) for cell in row] for row in lost.causes]
    yield from _table(gettext("What may have deleted it"), (gettext("Cause"), gettext("Verdict"), gettext("Why")), causes)


def _outage(one: Outage) -> tuple[str, ...]:
    is_known = one.downtime_ms is not None or one.at_least_ms is None
    down = duration_text(one.downtime_ms) if is_known else gettext("at least %(ms)s") % {"ms": duration_text(one.at_least_ms)}
    return day_and_clock_text(one.at), down, count_text(one.restarts), _parts(one.parts), duration_text(one.reprocessed_ms)


def _start(one: ReportedStart) -> tuple[str, ...]:
    held_up = {"ms": duration_text(one.held_up_ms), "task": one.held_up_by}
    by = gettext("%(ms)s by %(task)s") % held_up if one.held_up_by else "–"
    took = duration_text(one.total_ms), duration_text(one.usual_ms)
    return day_and_clock_text(one.at), translated(one.kind), *took, _parts(one.parts), count_text(one.tasks), by


def _parts(parts: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{words(name)} {duration_text(ms)}" for name, ms in parts) or "–"


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]], empty: str = "", note: str = "") -> Iterator[str]:
    rest = [" | ".join(plain(cell) for cell in row) for row in rows]
    names = [plain(column) for column in columns]
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}", *(f"| {row} |" for row in rest)]
    yield from _part(title, [*((plain(note), "") if note else ()), *(lines if rest else [empty or gettext("Nothing.")])])


def _block(lines: Iterable[str]) -> list[str]:
    """Indented code: it ends at the first line that is not, and every line of these is."""
    return [f"    {line}" for text in lines for line in text.splitlines() or [""]]


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())
