"""A document as Markdown, for tickets, in the language that is active: short, no HTML, and every
word of other people escaped.
"""

from collections.abc import Iterator

from django.utils.translation import gettext

from webapp.lib.filters import words
from webapp.lib.instants import clock_text, day_and_clock_text, instant_text
from webapp.lib.messages.rendering import localised
from webapp.reports.document import Document, Moment, Point, ReportedFinding
from webapp.reports.presentation import PresentedReport, shown
from webapp.reports.renderers.markdown_job import job_lines
from webapp.reports.renderers.markdown_parts import part, plain, shown_table, table, text

MOST_MOMENTS = 60
_MARKS = {"crit": "✕", "warn": "◆", "ok": "●", "done": "■"}


def render(document: Document) -> str:
    return "\n".join(_lines(document)).rstrip() + "\n"


def _lines(document: Document) -> Iterator[str]:
    about, summary = shown(document), document.summary
    yield f"# {text(document.title, about)}"
    yield ""
    yield (
        f"{about.verdict.shape} **{about.verdict.word}** · {instant_text(document.start)} – "
        f"{instant_text(document.end)}"
    )
    yield ""
    yield from part(
        gettext("What happened"),
        [f"**{text(summary.headline, about)}**", *(text(line, about) for line in summary.happened)],
        gap=True,
    )
    yield from part(gettext("When"), [text(summary.when)], gap=True)
    yield from part(gettext("Why"), [_point(point, about) for point in summary.cause], gap=True)
    yield from part(gettext("What it cost"), [f"* {text(line, about)}" for line in summary.impact])
    yield from part(
        gettext("What to do"),
        [f"{number}. {_point(point, about)}" for number, point in enumerate(summary.actions, 1)],
    )
    yield from _timeline(document, about)
    if about.notable:
        yield from part(
            gettext("Findings"),
            [line for finding, _badge in about.notable for line in _finding(finding)],
        )
    if document.alerts:
        rows = [
            (
                localised(alert.title),
                words(alert.state),
                day_and_clock_text(alert.fired_at),
                day_and_clock_text(alert.resolved_at),
                alert.acknowledged_by or "–",
            )
            for alert in document.alerts
        ]
        yield from table(
            gettext("Alerts"),
            (
                gettext("Alert"),
                gettext("State"),
                gettext("Fired (UTC)"),
                gettext("Resolved (UTC)"),
                gettext("Acknowledged by"),
            ),
            rows,
        )
    for single in document.tables:
        yield from shown_table(single, about)
    for story, _badge in about.jobs:
        yield from job_lines(story, about)
    yield from part(
        gettext("Sources"),
        [
            (
                f"* {text(source.name, about)}: "
                f"{instant_text(source.as_of)}{f' ({text(source.note)})' if source.note else ''}"
            )
            for source in document.sources
        ],
    )
    yield from part(
        gettext("Not known"),
        [f"* {text(line, about)}" for line in (*document.unknowns, *document.cut)],
    )
    yield gettext("Made by Weir for %(made_by)s, %(made_at)s. Report `%(uid)s`.") % {
        "made_by": plain(document.made_by),
        "made_at": instant_text(document.made_at),
        "uid": document.uid,
    }


def _point(point: Point, about: PresentedReport) -> str:
    return gettext("**%(lead)s.** %(text)s") % {
        "lead": text(point.lead, about),
        "text": text(point.text, about),
    }


def _timeline(document: Document, about: PresentedReport) -> Iterator[str]:
    if not document.timeline:
        return
    shown_moments = document.timeline[:MOST_MOMENTS]
    rows = [
        (_at(moment), f"{_MARKS.get(moment.tone, '■')} {_sentence(moment, about)}")
        for moment in shown_moments
    ]
    yield from table(gettext("Time line"), ("UTC", gettext("What")), rows)
    if len(document.timeline) > MOST_MOMENTS:
        more = len(document.timeline) - MOST_MOMENTS
        yield gettext("And %(more)s more moments, in the other forms of this report.") % {
            "more": more
        }
        yield ""


def _at(moment: Moment) -> str:
    return day_and_clock_text(moment.at) + (
        f" – {clock_text(moment.until)}" if moment.until else ""
    )


def _sentence(moment: Moment, about: PresentedReport) -> str:
    job = f" ({moment.job_name})" if about.several and moment.job_name else ""
    return " · ".join(filter(None, (localised(moment.title) + job, localised(moment.detail))))


def _finding(finding: ReportedFinding) -> Iterator[str]:
    yield f"### {text(finding.title, finding)}"
    yield ""
    seen = f"{day_and_clock_text(finding.first_seen)} – {day_and_clock_text(finding.last_seen)} UTC"
    yield gettext("%(severity)s, confidence %(confidence)s, `%(rule)s`, %(seen)s") % {
        "severity": gettext(finding.severity),
        "confidence": localised(finding.confidence),
        "rule": finding.rule,
        "seen": seen,
    }
    yield ""
    yield text(finding.cause, finding)
    yield ""
    for figure in finding.figures:
        compared = f" ({text(figure.compared, finding)})" if figure.compared else ""
        note = f", {text(figure.note, finding)}" if figure.note else ""
        yield f"* {text(figure.name, finding)}: **{text(figure.value, finding)}**{compared}{note}"
    yield ""
    yield f"**{gettext('Next:')}** {text(finding.next_step, finding)}"
    yield ""
    for bug in finding.known_bugs:
        yield f"{text(bug.sentence, finding)} {text(bug.way_out, finding)} <{bug.address}>"
        yield ""
