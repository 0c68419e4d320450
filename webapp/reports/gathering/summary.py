"""The first screen: what happened, when, why, what it cost, what to do. Pure: from what was gathered to sentences."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from spark_jobs.diagnosis import wording
from webapp.lib.instants import instant_text, span_text
from webapp.lib.quantities import bytes_text, count_text, duration_text, percent_text
from webapp.reports.document import JobStory, Kpi, Point, ReportedAlert, ReportedFinding, Summary
from webapp.reports.gathering.rule_findings import is_notable, of_job, rank
from webapp.reports.gathering.scope import ReportScope
from webapp.reports.gathering.story import GatheredJob

MOST_LINES, MOST_CAUSES, MOST_ACTIONS = 5, 3, 4
_SYMPTOMS = ("restart", "checkpoint", "storage")
"""What people notice; findings of other families say where it comes from."""
_LONG_GAPS = 2.5
"""Intervals without a completed checkpoint that are worth a sentence: one may always be late."""
_FIRST_MS = 60_000
"""A job that starts has to deploy and restore before its first checkpoint."""
MOST_OUTAGES = 5
_ENDED = {"CANCELED": "was canceled", "FINISHED": "finished", "FAILED": "failed for good", "SUSPENDED": "was suspended"}


def summary(
    gathered: Sequence[GatheredJob], findings: Sequence[ReportedFinding], alerts: Sequence[ReportedAlert], scope: ReportScope
) -> Summary:
    stories = worst_first([one.story for one in gathered], findings)
    notable = [one for one in findings if is_notable(one)]
    began, ended = _span(gathered, notable)
    return Summary(
        tone=_tone(stories, notable),
        headline=_headline(stories, notable),
        happened=_happened(stories, notable),
        when=_when(began, ended, notable, scope),
        cause=_causes(notable, stories),
        impact=_impact(stories, notable),
        actions=_actions(notable, stories),
        kpis=_kpis(stories, notable, alerts),
        started_at=began,
        ended_at=ended,
    )


def title(stories: Sequence[JobStory], findings: Sequence[ReportedFinding], headline: str) -> str:
    """Short, for lists: the job and the kind of trouble. ``stories`` are the worst first."""
    if not stories:
        return "None of these jobs is known"
    if len(stories) > 1:
        return f"{stories[0].name} and {wording.count_text(len(stories) - 1, 'other job')}"
    worst = symptom([one for one in findings if is_notable(one)])
    return f"{stories[0].name}: {worst.rule_title[:1].lower() + worst.rule_title[1:] if worst else headline[:1].lower() + headline[1:]}"


def worst_first(stories: Sequence[JobStory], findings: Sequence[ReportedFinding]) -> list[JobStory]:
    def badness(story: JobStory) -> tuple[bool, int, int, int, int]:
        own = [rank(one) for one in of_job(findings, story.cluster, story.job_id) if is_notable(one)]
        return story.state == "FAILED", max(own, default=0), story.restarts, story.checkpoints.failed, len(own)

    return sorted(stories, key=badness, reverse=True)


def symptom(notable: Sequence[ReportedFinding]) -> ReportedFinding | None:
    """The worst of what people notice, else the worst."""
    noticed = [one for one in notable if one.rule.split(".", 1)[0] in _SYMPTOMS]
    return next(iter([*noticed, *notable]), None)


def _tone(stories: Sequence[JobStory], notable: Sequence[ReportedFinding]) -> str:
    if any(one.severity == "critical" for one in notable) or any(story.state == "FAILED" for story in stories):
        return "crit"
    if notable or any(story.checkpoints.failed or story.restarts for story in stories):
        return "warn"
    return "unknown" if any(story.judged_at is None for story in stories) else "ok"


def _headline(stories: Sequence[JobStory], notable: Sequence[ReportedFinding]) -> str:
    troubled = {(one.cluster, one.job_id) for one in notable if one.job_id}
    worst = symptom(
        [one for one in notable if not stories or (one.cluster, one.job_id) == (stories[0].cluster, stories[0].job_id)] or notable
    )
    if worst is not None:
        alike = sum(one.rule == worst.rule and one.job_id == worst.job_id for one in notable) - 1
        gathered = worst.title + (f", and {alike} more like it" if alike else "")
        if len(stories) > 1 and troubled:
            return f"{len(troubled)} of {len(stories)} jobs in trouble, {stories[0].name} worst"
        return gathered
    failed = sum(story.checkpoints.failed for story in stories)
    if failed:
        return f"{count_text(failed)} checkpoints failed; no rule found more than that"
    restarts = sum(story.restarts for story in stories)
    if restarts:
        return f"{_times(restarts)} restarted; no rule found more than that"
    if any(story.judged_at is None for story in stories):
        return "Not known: not every job was judged in this time"
    return "Nothing was found wrong in this time"


def _happened(stories: Sequence[JobStory], notable: Sequence[ReportedFinding]) -> tuple[str, ...]:
    several = len(stories) > 1
    lines = []
    for story in stories[:MOST_LINES]:
        said = _checkpoints(story, brief=several)
        if several:
            worst = symptom(of_job(notable, story.cluster, story.job_id))
            lines.append(f"{story.name}: {' '.join([f'{worst.title}.' if worst else '', *said]).strip() or 'nothing found.'}")
        else:
            lines += said
    if len(stories) > MOST_LINES:
        lines.append(f"And {len(stories) - MOST_LINES} more jobs, below.")
    return tuple(lines)


def _checkpoints(story: JobStory, *, brief: bool = False) -> list[str]:
    figures, said = story.checkpoints, []
    if figures.settled:
        parts = ", ".join(f"{count_text(count)} {outcome}" for outcome, count in figures.by_outcome.items())
        hours = " (by whole hours, savepoints included)" if figures.by_hours else ""
        if figures.completed == figures.settled:
            said.append(f"All {count_text(figures.settled)} checkpoints completed{hours}.")
        else:
            said.append(
                f"{count_text(figures.failed)} of {count_text(figures.settled)} checkpoints failed{hours}{'' if brief else f': {parts}'}."
            )
    elif figures.interval_ms is None:
        said.append("No checkpoint was due: periodic checkpoints are off, or the cluster has not reported any.")
    else:
        said.append("No checkpoint ended in this time.")
    if figures.savepoints and not brief:
        said.append(f"{wording.count_text(figures.savepoints, 'savepoint')} taken.")
    if story.restarts:
        thrown = next(iter(story.exceptions), None)
        by = f"; thrown: {thrown.name} in {thrown.task}" if thrown else ""
        said.append(f"The job restarted {_times(story.restarts)}{by}.")
    if story.ended_at and story.state in _ENDED and (not brief or story.state == "FAILED"):
        said.append(f"The job {_ENDED[story.state]} at {instant_text(story.ended_at)}.")
    return said


def _span(gathered: Sequence[GatheredJob], notable: Sequence[ReportedFinding]) -> tuple[datetime | None, datetime | None]:
    """From the first sign of trouble to the last."""
    signs = [at for job in gathered for at in job.signs]
    firsts = [*(one.first_seen for one in notable), *signs]
    lasts = [*(one.last_seen for one in notable), *signs]
    return min(firsts, default=None), max(lasts, default=None)


def _when(began: datetime | None, ended: datetime | None, notable: Sequence[ReportedFinding], scope: ReportScope) -> str:
    if began is None or ended is None:
        return f"Looked at: {_range(scope.start, scope.end)}."
    still = " Not over when this report was made." if any(one.is_open for one in notable) else ""
    if ended - began < timedelta(seconds=1):
        return f"{_range(began, ended)}.{still}"
    return f"{_range(began, ended)}, for {span_text(began, ended)}.{still}"


def _range(start: datetime, end: datetime) -> str:
    if end - start < timedelta(seconds=1):
        return instant_text(start)
    return f"{start:%Y-%m-%d %H:%M:%S} – {f'{end:%H:%M:%S}' if start.date() == end.date() else f'{end:%Y-%m-%d %H:%M:%S}'} UTC"


def _causes(notable: Sequence[ReportedFinding], stories: Sequence[JobStory]) -> tuple[Point, ...]:
    """That which explains comes before what it explains; one of each rule and job."""
    points = [Point(_lead(one, stories), _cause(one)) for one in _one_of_each(notable, stories)[:MOST_CAUSES]]
    if points:
        return tuple(points)
    if any(story.checkpoints.failed or story.restarts for story in stories):
        return (Point("Not known", "No rule named a cause. The time line, exceptions and log excerpts below are all there is."),)
    return (Point("None found", "No rule fired on these jobs in this time."),)


def _cause(finding: ReportedFinding) -> str:
    shows_way = len(finding.path) > 1 and finding.rule.startswith("pressure.")
    way = f" The way: {' → '.join(finding.path)}." if shows_way else ""
    return finding.cause + way


def _lead(finding: ReportedFinding, stories: Sequence[JobStory]) -> str:
    return f"{finding.job_name}: {finding.title}" if len(stories) > 1 and finding.job_id else finding.title


def _actions(notable: Sequence[ReportedFinding], stories: Sequence[JobStory]) -> tuple[Point, ...]:
    steps: dict[str, Point] = {}
    for one in _one_of_each(notable, stories):
        steps.setdefault(one.next_step, Point(one.rule_title if len(stories) < 2 else f"{one.job_name}: {one.rule_title}", one.next_step))
    if steps:
        return tuple(steps.values())[:MOST_ACTIONS]
    if any(story.exceptions for story in stories):
        return (Point("Exceptions", "Start with the exceptions below: they say what was thrown, where and how often."),)
    return (Point("Nothing", "There is nothing to act on."),)


def _one_of_each(notable: Sequence[ReportedFinding], stories: Sequence[JobStory]) -> list[ReportedFinding]:
    """The first of each rule, since a second one says much the same; of several jobs the first of each, so that none is missed."""
    first: dict[tuple[str, ...], ReportedFinding] = {}
    for one in notable:
        first.setdefault((one.cluster, one.job_id, "" if len(stories) > 1 else one.rule), one)
    return list(first.values())


def _impact(stories: Sequence[JobStory], notable: Sequence[ReportedFinding]) -> tuple[str, ...]:
    several, said = len(stories) > 1, []
    for story in stories[:MOST_LINES]:
        before = f"{story.name}: " if several else ""
        lines = _cost(story, of_job(notable, story.cluster, story.job_id))
        said += [before + line for line in (lines[:1] if several else lines)]
    return tuple(said) or ("None: no checkpoint failed and no job restarted.",)


def _cost(story: JobStory, notable: Sequence[ReportedFinding]) -> list[str]:
    figures, said = story.checkpoints, _downtime(story)
    gap_ms, interval_ms = figures.longest_gap_ms, figures.interval_ms
    due = f" (one is due every {duration_text(interval_ms)})" if interval_ms else ""
    begins_well = figures.gap_is_first and not figures.failed and not story.restarts
    least_ms = max(_LONG_GAPS * (interval_ms or 0), _FIRST_MS if begins_well else 0)
    is_long = gap_ms is not None and gap_ms > least_ms
    if is_long and figures.gap_from and figures.gap_to:
        said.append(
            f"No checkpoint completed for {duration_text(gap_ms)}, {_range(figures.gap_from, figures.gap_to)}{due}; "
            "a failure at its end would have replayed all of it."
        )
    if figures.failed:
        longest = f"; the longest time without a new one was {duration_text(gap_ms)}{due}" if gap_ms is not None and not is_long else ""
        said.append(f"{wording.count_text(figures.failed, 'recovery point')} lost{longest}.")
    if figures.wasted_bytes:
        unknown = f"; of {figures.wasted_unknown} more it is not known" if figures.wasted_unknown else ""
        said.append(f"{bytes_text(figures.wasted_bytes)} were uploaded in vain, for checkpoints that did not complete{unknown}.")
    excess = sum(one.excess_bytes or 0 for one in notable)
    if excess:
        said.append(f"{bytes_text(excess)} were uploaded in excess.")
    for one in notable:
        if one.rule in ("pressure.root", "pressure.outbound") and one.last_seen > one.first_seen:
            said.append(f"Records were back-pressured by {one.subject} for at least {span_text(one.first_seen, one.last_seen)}.")
    if story.state == "FAILED":
        said.append("The job is gone: it failed for good and does not come back by itself.")
    return said


def _downtime(story: JobStory) -> list[str]:
    """How long it was down, outage by outage, and what it processed again."""
    if not story.outages:
        return [f"It restarted {_times(story.restarts)}; for how long its tasks were down is not known."] if story.restarts else []
    known = [one for one in story.outages if one.downtime_ms is not None]
    least = [one for one in story.outages if one.downtime_ms is None]
    said = []
    if known:
        each = ", ".join(f"{one.at:%H:%M:%S} UTC {duration_text(one.downtime_ms)}" for one in known[:MOST_OUTAGES])
        more = f" and {len(known) - MOST_OUTAGES} more" if len(known) > MOST_OUTAGES else ""
        times = wording.count_text(len(known), "outage")
        said.append(f"Down for {duration_text(sum(one.downtime_ms or 0 for one in known))} in {times}: {each}{more}.")
    if least:
        at_least_ms = sum(one.at_least_ms or 0 for one in least)
        certain = f", at least {duration_text(at_least_ms)} in all" if at_least_ms else ""
        said.append(f"For {wording.count_text(len(least), 'restart')} it is not known when all tasks ran again{certain}.")
    again = [one.reprocessed_ms for one in story.outages if one.reprocessed_ms is not None]
    if again:
        oldest = f"the restored checkpoints were up to {duration_text(max(again))} old"
        said.append(f"Processed again: the records of {duration_text(sum(again))}; {oldest}.")
    return said


def _kpis(stories: Sequence[JobStory], notable: Sequence[ReportedFinding], alerts: Sequence[ReportedAlert]) -> tuple[Kpi, ...]:
    settled, failed = sum(one.checkpoints.settled for one in stories), sum(one.checkpoints.failed for one in stories)
    gaps = [one.checkpoints for one in stories if one.checkpoints.longest_gap_ms is not None]
    longest = max(gaps, key=lambda one: one.longest_gap_ms or 0, default=None)
    restarts = sum(one.restarts for one in stories)
    down_ms = sum(outage.downtime_ms or outage.at_least_ms or 0 for one in stories for outage in one.outages)
    down = f"down for {duration_text(down_ms)}" if down_ms else "in this time"
    critical = sum(one.severity == "critical" for one in notable)
    acknowledged = sum(bool(one.acknowledged_by) for one in alerts)
    due = f"due every {duration_text(longest.interval_ms)}" if longest and longest.interval_ms else "or from the start to the first"
    return (
        Kpi(
            "Checkpoints failed",
            f"{count_text(failed)} of {count_text(settled)}",
            percent_text(failed / settled) if settled else "none ended",
            "crit" if failed else "",
        ),
        Kpi("Longest without recovery point", duration_text(longest.longest_gap_ms) if longest else "–", due if longest else "not known"),
        Kpi("Restarts", count_text(restarts), down, "warn" if restarts else ""),
        Kpi(
            "Findings",
            count_text(len(notable)),
            f"{critical} critical, {len(notable) - critical} warning",
            "crit" if critical else "warn" if notable else "",
        ),
        Kpi("Alerts", count_text(len(alerts)), f"{acknowledged} acknowledged" if alerts else "none fired"),
    )


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count_text(count)} times"
