"""A document as Markdown, for tickets: short, no HTML, and every word of other people escaped."""

import re
from collections.abc import Iterable, Iterator, Sequence

from webapp.lib.instants import clock_text, day_and_clock_text, instant_text
from webapp.lib.outage import Outage
from webapp.lib.quantities import bytes_text, count_text, duration_text
from webapp.reports.document import Document, JobStory, Moment, ReportedFinding, ReportedStart
from webapp.reports.presentation import shown

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


def render(document: Document) -> str:
    return "\n".join(_lines(document)).rstrip() + "\n"


def _lines(document: Document) -> Iterator[str]:
    about, summary = shown(document), document.summary
    yield f"# {plain(document.title)}"
    yield ""
    yield f"{about.verdict.shape} **{about.verdict.word}** · {instant_text(document.start)} – {instant_text(document.end)}"
    yield ""
    yield from _part("What happened", [f"**{plain(summary.headline)}**", *(plain(line) for line in summary.happened)], gap=True)
    yield from _part("When", [plain(summary.when)], gap=True)
    yield from _part("Why", [f"**{plain(point.lead)}.** {plain(point.text)}" for point in summary.cause], gap=True)
    yield from _part("What it cost", [f"* {plain(line)}" for line in summary.impact])
    yield from _part(
        "What to do", [f"{number}. **{plain(point.lead)}.** {plain(point.text)}" for number, point in enumerate(summary.actions, 1)]
    )
    yield from _timeline(document)
    if about.notable:
        yield from _part("Findings", [line for finding, _badge in about.notable for line in _finding(finding)])
    if document.alerts:
        rows = [
            (
                alert.title,
                alert.state,
                day_and_clock_text(alert.fired_at),
                day_and_clock_text(alert.resolved_at),
                alert.acknowledged_by or "–",
            )
            for alert in document.alerts
        ]
        yield from _table("Alerts", ("Alert", "State", "Fired (UTC)", "Resolved (UTC)", "Acknowledged by"), rows)
    for table in document.tables:
        yield from _table(table.title, table.columns, table.rows, table.empty)
    for story, _badge in about.jobs:
        yield from _job(story)
    yield from _part(
        "Sources",
        [f"* {plain(one.name)}: {instant_text(one.as_of)}{f' ({plain(one.note)})' if one.note else ''}" for one in document.sources],
    )
    yield from _part("Not known", [f"* {plain(line)}" for line in (*document.unknowns, *document.cut)])
    yield f"Made by Weir for {plain(document.made_by)}, {instant_text(document.made_at)}. Report `{document.uid}`."


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


def _timeline(document: Document) -> Iterator[str]:
    if not document.timeline:
        return
    shown_moments = document.timeline[:MOST_MOMENTS]
    several = len(document.stories) > 1
    rows = [(_at(one), f"{_MARKS.get(one.tone, '■')} {_said(one, several)}") for one in shown_moments]
    yield from _table("Time line", ("UTC", "What"), rows)
    if len(document.timeline) > MOST_MOMENTS:
        yield f"And {len(document.timeline) - MOST_MOMENTS} more moments, in the other forms of this report."
        yield ""


def _at(moment: Moment) -> str:
    return day_and_clock_text(moment.at) + (f" – {clock_text(moment.until)}" if moment.until else "")


def _said(moment: Moment, several: bool) -> str:
    job = f" ({moment.job_name})" if several and moment.job_name else ""
    return " · ".join(filter(None, (moment.title + job, moment.detail)))


def _finding(finding: ReportedFinding) -> Iterator[str]:
    yield f"### {plain(finding.title)}"
    yield ""
    seen = f"{day_and_clock_text(finding.first_seen)} – {day_and_clock_text(finding.last_seen)} UTC"
    yield f"{finding.severity}, confidence {finding.confidence}, `{finding.rule}`, {seen}"
    yield ""
    yield plain(finding.cause)
    yield ""
    for figure in finding.figures:
        compared = f" ({plain(figure.compared)})" if figure.compared else ""
        note = f", {plain(figure.note)}" if figure.note else ""
        yield f"* {plain(figure.name)}: **{plain(figure.value)}**{compared}{note}"
    yield ""
    yield f"**Next:** {plain(finding.next_step)}"
    yield ""


def _counted(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{count_text(count)} {name.replace('_', ' ')}" for name, count in counts)


def _job(story: JobStory) -> Iterator[str]:
    yield f"## Job {plain(story.name)}"
    yield ""
    state = plain(story.state.lower() or "state unknown")
    yield f"* `{_code(story.job_id)}` on {plain(story.cluster)}, Flink {plain(story.flink_version or '–')}, {state}"
    yield f"* lived {instant_text(story.started_at)} – {instant_text(story.ended_at or story.last_seen_at)}"
    yield f"* restarts: {count_text(story.restarts)}"
    outcomes = ", ".join(f"{count_text(count)} {outcome}" for outcome, count in story.checkpoints.by_outcome.items())
    yield f"* checkpoints: {outcomes or 'none ended'}"
    if story.counters:
        yield f"* Flink's counters at {instant_text(story.counters.at)}: {_counted(story.counters.flink)}; Weir knew then:"
        yield f"  {_counted(story.counters.weir)}. {plain(story.counters.why)}"
    for one in story.exceptions:
        yield f"* exception {plain(one.name)} in {plain(one.task)}, {instant_text(one.at)}" + (f", and {one.more} more" if one.more else "")
    yield ""
    if story.outages:
        yield from _table(
            "Outages", ("Began (UTC)", "Down", "Restarts", "Parts", "Processed again"), [_outage(one) for one in story.outages]
        )
    if story.starts:
        columns = ("Scheduled (UTC)", "Kind", "Whole", "Usually", "Parts", "Tasks", "Held up")
        yield from _table("Starts", columns, [_start(one) for one in story.starts])
    for lost in story.missing_files:
        yield f"* missing file `{_code(lost.path)}`: {plain(lost.summary)} In the directory of {plain(lost.owner or 'no known job')},"
        listed, gone = instant_text(lost.last_listed), instant_text(lost.gone_by)
        yield f"  needed by {count_text(lost.snapshots)} snapshots; last listed {listed}, gone by {gone}"
        yield ""
        yield from _table("What may have deleted it", ("Cause", "Verdict", "Why"), lost.causes)
    for table in story.tables:
        yield from _table(table.title, table.columns, table.rows, note=table.note)
    if story.storage:
        rows = [
            (place.root, *map(bytes_text, (place.bytes, place.raw_bytes, place.orphan_bytes)), count_text(place.missing_files))
            for place in story.storage
        ]
        yield from _table("Checkpoint storage", ("Root", "Bytes", "Raw", "Orphaned", "Missing files"), rows)
    if story.logs:
        excerpts = [
            f"{clock_text(line.at)} {line.level} {line.text}" + (f"  (and {line.more} more like it)" if line.more else "")
            for line in story.logs
        ]
        yield from _part("Log excerpts", _block(excerpts[:MOST_EXCERPTS]))
    if story.configuration:
        yield from _part("Configuration", _block(f"{key}: {value}" for key, value in story.configuration))


def _outage(one: Outage) -> tuple[str, ...]:
    is_known = one.downtime_ms is not None or one.at_least_ms is None
    down = duration_text(one.downtime_ms) if is_known else f"at least {duration_text(one.at_least_ms)}"
    return day_and_clock_text(one.at), down, count_text(one.restarts), _parts(one.parts), duration_text(one.reprocessed_ms)


def _start(one: ReportedStart) -> tuple[str, ...]:
    held_up = f"{duration_text(one.held_up_ms)} by {one.held_up_by}" if one.held_up_by else "–"
    took = duration_text(one.total_ms), duration_text(one.usual_ms)
    return day_and_clock_text(one.at), one.kind, *took, _parts(one.parts), count_text(one.tasks), held_up


def _parts(parts: Iterable[tuple[str, float]]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {duration_text(ms)}" for name, ms in parts) or "–"


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]], empty: str = "", note: str = "") -> Iterator[str]:
    rest = [" | ".join(plain(cell) for cell in row) for row in rows]
    names = [plain(column) for column in columns]
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}", *(f"| {row} |" for row in rest)]
    yield from _part(title, [*((plain(note), "") if note else ()), *(lines if rest else [empty or "Nothing."])])


def _block(lines: Iterable[str]) -> list[str]:
    """Indented code: it ends at the first line that is not, and every line of these is."""
    return [f"    {line}" for text in lines for line in text.splitlines() or [""]]


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())
