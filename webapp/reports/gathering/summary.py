"""The first screen: what happened, when, why, what it cost, what to do.

Pure: from what was gathered to sentences.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ingest.job_states import NOT_LISTED
from ingest.messages import join_messages, message, plural
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
_ENDED = {
    "CANCELED": message("was canceled"),
    "FINISHED": "finished",
    "FAILED": message("failed for good"),
    "SUSPENDED": message("was suspended"),
    NOT_LISTED: message("was listed by its JobManager for the last time"),
}


def summary(
    gathered: Sequence[GatheredJob],
    findings: Sequence[ReportedFinding],
    alerts: Sequence[ReportedAlert],
    scope: ReportScope,
) -> Summary:
    stories = worst_first([job.story for job in gathered], findings)
    notable = [finding for finding in findings if is_notable(finding)]
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
        return message("None of these jobs is known")
    if len(stories) > 1:
        return message(
            "{name:name} and {stories:message}",
            name=stories[0].name,
            stories=plural(len(stories) - 1, "{count:count} other job", "{count:count} other jobs"),
        )
    worst = symptom([finding for finding in findings if is_notable(finding)])
    return message(
        "{name:name}: {trouble:text}",
        name=stories[0].name,
        trouble=worst.rule_title if worst else headline,
    )


def worst_first(stories: Sequence[JobStory], findings: Sequence[ReportedFinding]) -> list[JobStory]:
    def badness(story: JobStory) -> tuple[bool, int, int, int, int]:
        own = [
            rank(finding)
            for finding in of_job(findings, story.cluster, story.job_id)
            if is_notable(finding)
        ]
        return (
            story.state == "FAILED",
            max(own, default=0),
            story.restarts,
            story.checkpoints.failed,
            len(own),
        )

    return sorted(stories, key=badness, reverse=True)


def symptom(notable: Sequence[ReportedFinding]) -> ReportedFinding | None:
    """The worst of what people notice, else the worst."""
    noticed = [finding for finding in notable if finding.rule.split(".", 1)[0] in _SYMPTOMS]
    return next(iter([*noticed, *notable]), None)


def _tone(stories: Sequence[JobStory], notable: Sequence[ReportedFinding]) -> str:
    if any(finding.severity == "critical" for finding in notable) or any(
        story.state == "FAILED" for story in stories
    ):
        return "crit"
    if notable or any(story.checkpoints.failed or story.restarts for story in stories):
        return "warn"
    return "unknown" if any(story.judged_at is None for story in stories) else "ok"


def _headline(stories: Sequence[JobStory], notable: Sequence[ReportedFinding]) -> str:
    jobs = {
        (story.cluster, story.job_id): (story.cluster, story.first_attempt_id or story.job_id)
        for story in stories
    }
    named = {(finding.cluster, finding.job_id) for finding in notable if finding.job_id}
    troubled = {jobs.get(attempt, attempt) for attempt in named}
    job_count = len(set(jobs.values()))
    worst = symptom(
        [
            finding
            for finding in notable
            if not stories
            or (finding.cluster, finding.job_id) == (stories[0].cluster, stories[0].job_id)
        ]
        or notable
    )
    if worst is not None:
        alike = (
            sum(
                finding.rule == worst.rule and finding.job_id == worst.job_id for finding in notable
            )
            - 1
        )
        gathered = worst.title + (
            message(", and {alike:number} more like it", alike=alike) if alike else ""
        )
        if job_count > 1 and troubled:
            return message(
                "{troubled:number} of {stories:number} jobs in trouble, {name:name} worst",
                troubled=len(troubled),
                stories=job_count,
                name=stories[0].name,
            )
        return gathered
    failed = sum(story.checkpoints.failed for story in stories)
    if failed:
        return message(
            "{failed:name} checkpoints failed; no rule found more than that",
            failed=count_text(failed),
        )
    restarts = sum(story.restarts for story in stories)
    if restarts:
        return message(
            "{times:text} restarted; no rule found more than that", times=_times(restarts)
        )
    if any(story.judged_at is None for story in stories):
        return message("Not known: not every job was judged in this time")
    return message("Nothing was found wrong in this time")


def _happened(stories: Sequence[JobStory], notable: Sequence[ReportedFinding]) -> tuple[str, ...]:
    several = len(stories) > 1
    lines: list[str] = []
    for story in stories[:MOST_LINES]:
        sentences = _checkpoints(story, brief=several)
        if several:
            worst = symptom(of_job(notable, story.cluster, story.job_id))
            of_worst = [message("{title:text}.", title=worst.title)] if worst else []
            messages = join_messages([*of_worst, *sentences], " ") or message("nothing found.")
            lines.append(message("{name:name}: {found:message}", name=story.name, found=messages))
        else:
            lines += sentences
    if len(stories) > MOST_LINES:
        lines.append(
            message("And {stories:number} more jobs, below.", stories=len(stories) - MOST_LINES)
        )
    return tuple(lines)


def _checkpoints(story: JobStory, *, brief: bool = False) -> list[str]:
    figures = story.checkpoints
    sentences: list[str] = []
    if figures.settled:
        parts = join_messages(
            (
                message("{count:count} {outcome:name}", count=count, outcome=outcome)
                for outcome, count in figures.by_outcome.items()
            ),
            ", ",
        )
        hours = message(" (by whole hours, savepoints included)") if figures.by_hours else ""
        if figures.completed == figures.settled:
            sentences.append(
                message(
                    "All {settled:name} checkpoints completed{hours:message}.",
                    settled=count_text(figures.settled),
                    hours=hours,
                )
            )
        else:
            sentences.append(
                message(
                    "{failed:name} of {settled:name} checkpoints "
                    "failed{hours:message}{words:message}.",
                    failed=count_text(figures.failed),
                    settled=count_text(figures.settled),
                    hours=hours,
                    words="" if brief else message(": {parts:message}", parts=parts),
                )
            )
    elif figures.interval_ms is None:
        sentences.append(
            message(
                "No checkpoint was due: periodic checkpoints are off, or the cluster has not "
                "reported any."
            )
        )
    else:
        sentences.append(message("No checkpoint ended in this time."))
    if figures.savepoints and not brief:
        sentences.append(
            message(
                "{savepoints:message} taken.",
                savepoints=plural(
                    figures.savepoints, "{count:count} savepoint", "{count:count} savepoints"
                ),
            )
        )
    if story.restarts:
        thrown = next(iter(story.exceptions), None)
        by = (
            message("; thrown: {name:name} in {task:name}", name=thrown.name, task=thrown.task)
            if thrown
            else ""
        )
        sentences.append(
            message(
                "The job restarted {times:text}{by:message}.", times=_times(story.restarts), by=by
            )
        )
    if story.ended_at and story.state in _ENDED and (not brief or story.state == "FAILED"):
        sentences.append(
            message(
                "The job {ended:text} at {ended_at:name}.",
                ended=_ENDED[story.state],
                ended_at=instant_text(story.ended_at),
            )
        )
    return sentences


def _span(
    gathered: Sequence[GatheredJob], notable: Sequence[ReportedFinding]
) -> tuple[datetime | None, datetime | None]:
    """From the first sign of trouble to the last."""
    signs = [at for job in gathered for at in job.signs]
    firsts = [*(finding.first_seen for finding in notable), *signs]
    lasts = [*(finding.last_seen for finding in notable), *signs]
    return min(firsts, default=None), max(lasts, default=None)


def _when(
    began: datetime | None,
    ended: datetime | None,
    notable: Sequence[ReportedFinding],
    scope: ReportScope,
) -> str:
    if began is None or ended is None:
        return message("Looked at: {range:name}.", range=_range(scope.start, scope.end))
    still = (
        message(" Still going on when this report was made.")
        if any(finding.is_open for finding in notable)
        else ""
    )
    if ended - began < timedelta(seconds=1):
        return f"{_range(began, ended)}.{still}"
    return message(
        "{range:name}, for {began:name}.{still:message}",
        range=_range(began, ended),
        began=span_text(began, ended),
        still=still,
    )


def _range(start: datetime, end: datetime) -> str:
    if end - start < timedelta(seconds=1):
        return instant_text(start)
    return message(
        "{start:name} – {words:name} UTC",
        start=f"{start:%Y-%m-%d %H:%M:%S}",
        words=f"{end:%H:%M:%S}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}",
    )


def _causes(notable: Sequence[ReportedFinding], stories: Sequence[JobStory]) -> tuple[Point, ...]:
    """That which explains comes before what it explains; one of each rule and job."""
    points = [
        Point(_lead(finding, stories), _cause(finding))
        for finding in _one_of_each(notable, stories)[:MOST_CAUSES]
    ]
    if points:
        return tuple(points)
    if any(story.checkpoints.failed or story.restarts for story in stories):
        return (
            Point(
                message("Not known"),
                message(
                    "No rule named a cause. The time line, exceptions and log excerpts below are "
                    "all there is."
                ),
            ),
        )
    return (Point(message("None found"), message("No rule fired on these jobs in this time.")),)


def _cause(finding: ReportedFinding) -> str:
    shows_way = len(finding.path) > 1 and finding.rule.startswith("pressure.")
    way = message(" The way: {join:name}.", join=" → ".join(finding.path)) if shows_way else ""
    return finding.cause + way


def _lead(finding: ReportedFinding, stories: Sequence[JobStory]) -> str:
    return (
        message("{job_name:name}: {title:text}", job_name=finding.job_name, title=finding.title)
        if len(stories) > 1 and finding.job_id
        else finding.title
    )


def _actions(notable: Sequence[ReportedFinding], stories: Sequence[JobStory]) -> tuple[Point, ...]:
    steps: dict[str, Point] = {}
    for finding in _one_of_each(notable, stories):
        steps.setdefault(
            finding.next_step,
            Point(
                finding.rule_title
                if len(stories) < 2
                else message(
                    "{job_name:name}: {rule_title:text}",
                    job_name=finding.job_name,
                    rule_title=finding.rule_title,
                ),
                finding.next_step,
            ),
        )
    if steps:
        return tuple(steps.values())[:MOST_ACTIONS]
    if any(story.exceptions for story in stories):
        return (
            Point(
                message("Exceptions"),
                message(
                    "Start with the exceptions below: they say what was thrown, where and how "
                    "often."
                ),
            ),
        )
    return (Point(message("Nothing"), message("There is nothing to act on.")),)


def _one_of_each(
    notable: Sequence[ReportedFinding], stories: Sequence[JobStory]
) -> list[ReportedFinding]:
    """The first of each rule, since a second one says much the same; of several jobs the first of
    each, so that none is missed.
    """
    first: dict[tuple[str, ...], ReportedFinding] = {}
    for finding in notable:
        first.setdefault(
            (finding.cluster, finding.job_id, "" if len(stories) > 1 else finding.rule), finding
        )
    return list(first.values())


def _impact(stories: Sequence[JobStory], notable: Sequence[ReportedFinding]) -> tuple[str, ...]:
    several, sentences = len(stories) > 1, []
    for story in stories[:MOST_LINES]:
        before = f"{story.name}: " if several else ""
        lines = _cost(story, of_job(notable, story.cluster, story.job_id))
        sentences += [before + line for line in (lines[:1] if several else lines)]
    return tuple(sentences) or (message("None: no checkpoint failed and no job restarted."),)


def _cost(story: JobStory, notable: Sequence[ReportedFinding]) -> list[str]:
    figures, sentences = story.checkpoints, _downtime(story)
    gap_ms, interval_ms = figures.longest_gap_ms, figures.interval_ms
    due = (
        message(" (one is due every {interval_ms:name})", interval_ms=duration_text(interval_ms))
        if interval_ms
        else ""
    )
    begins_well = figures.gap_is_first and not figures.failed and not story.restarts
    least_ms = max(_LONG_GAPS * (interval_ms or 0), _FIRST_MS if begins_well else 0)
    is_long = gap_ms is not None and gap_ms > least_ms
    if is_long and figures.gap_from and figures.gap_to:
        sentences.append(
            message(
                "No checkpoint completed for {gap_ms:name}, {range:name}{due:message}; a failure "
                "at its end would have replayed all of it.",
                gap_ms=duration_text(gap_ms),
                range=_range(figures.gap_from, figures.gap_to),
                due=due,
            )
        )
    if figures.failed:
        longest = (
            message(
                "; the longest time without a new one was {gap_ms:name}{due:message}",
                gap_ms=duration_text(gap_ms),
                due=due,
            )
            if gap_ms is not None and not is_long
            else ""
        )
        sentences.append(
            message(
                "{failed:message} lost{longest:message}.",
                failed=plural(
                    figures.failed, "{count:count} recovery point", "{count:count} recovery points"
                ),
                longest=longest,
            )
        )
    if figures.wasted_bytes:
        unknown = (
            message(
                "; of {wasted_unknown:number} more it is not known",
                wasted_unknown=figures.wasted_unknown,
            )
            if figures.wasted_unknown
            else ""
        )
        sentences.append(
            message(
                "{wasted_bytes:name} were uploaded for checkpoints that failed{unknown:message}.",
                wasted_bytes=bytes_text(figures.wasted_bytes),
                unknown=unknown,
            )
        )
    excess = sum(finding.excess_bytes or 0 for finding in notable)
    if excess:
        sentences.append(
            message("{excess:name} were uploaded in excess.", excess=bytes_text(excess))
        )
    for finding in notable:
        if (
            finding.rule in ("pressure.root", "pressure.outbound")
            and finding.last_seen > finding.first_seen
        ):
            sentences.append(
                message(
                    "Records were back-pressured by {subject:name} for at least {first_seen:name}.",
                    subject=finding.subject,
                    first_seen=span_text(finding.first_seen, finding.last_seen),
                )
            )
    if story.state == "FAILED":
        sentences.append(
            message("The job is gone: it failed for good and does not come back by itself.")
        )
    return sentences


def _downtime(story: JobStory) -> list[str]:
    """How long it was down, outage by outage, and what it processed again."""
    if not story.outages:
        return (
            [
                message(
                    "It restarted {times:text}; for how long its tasks were down is not known.",
                    times=_times(story.restarts),
                )
            ]
            if story.restarts
            else []
        )
    known = [outage for outage in story.outages if outage.downtime_ms is not None]
    least = [outage for outage in story.outages if outage.downtime_ms is None]
    sentences: list[str] = []
    if known:
        each = join_messages(
            (
                message(
                    "{at:name} UTC {downtime_ms:name}",
                    at=f"{outage.at:%H:%M:%S}",
                    downtime_ms=duration_text(outage.downtime_ms),
                )
                for outage in known[:MOST_OUTAGES]
            ),
            ", ",
        )
        more = (
            message(" and {known:number} more", known=len(known) - MOST_OUTAGES)
            if len(known) > MOST_OUTAGES
            else ""
        )
        times = plural(len(known), "{count:count} outage", "{count:count} outages")
        sentences.append(
            message(
                "Down for {sum:name} in {times:message}: {each:message}{more:message}.",
                sum=duration_text(sum(outage.downtime_ms or 0 for outage in known)),
                times=times,
                each=each,
                more=more,
            )
        )
    if least:
        at_least_ms = sum(outage.at_least_ms or 0 for outage in least)
        certain = (
            message(", at least {at_least_ms:name} in all", at_least_ms=duration_text(at_least_ms))
            if at_least_ms
            else ""
        )
        sentences.append(
            message(
                "For {least:message} it is not known when all tasks ran again{certain:message}.",
                least=plural(len(least), "{count:count} restart", "{count:count} restarts"),
                certain=certain,
            )
        )
    again = [outage.reprocessed_ms for outage in story.outages if outage.reprocessed_ms is not None]
    if again:
        oldest = message(
            "the restored checkpoints were up to {max:name} old", max=duration_text(max(again))
        )
        sentences.append(
            message(
                "Processed again: the records of {sum:name}; {oldest:message}.",
                sum=duration_text(sum(again)),
                oldest=oldest,
            )
        )
    return sentences


def _kpis(
    stories: Sequence[JobStory], notable: Sequence[ReportedFinding], alerts: Sequence[ReportedAlert]
) -> tuple[Kpi, ...]:
    settled = sum(story.checkpoints.settled for story in stories)
    failed = sum(story.checkpoints.failed for story in stories)
    gaps = [story.checkpoints for story in stories if story.checkpoints.longest_gap_ms is not None]
    longest = max(gaps, key=lambda gap: gap.longest_gap_ms or 0, default=None)
    restarts = sum(story.restarts for story in stories)
    down_ms = sum(
        outage.downtime_ms or outage.at_least_ms or 0
        for story in stories
        for outage in story.outages
    )
    down = (
        message("down for {down_ms:name}", down_ms=duration_text(down_ms))
        if down_ms
        else message("in this time")
    )
    critical = sum(finding.severity == "critical" for finding in notable)
    acknowledged = sum(bool(alert.acknowledged_by) for alert in alerts)
    due = (
        message("due every {interval_ms:name}", interval_ms=duration_text(longest.interval_ms))
        if longest and longest.interval_ms
        else message("or from the start to the first")
    )
    return (
        Kpi(
            message("Checkpoints failed"),
            message(
                "{failed:name} of {settled:name}",
                failed=count_text(failed),
                settled=count_text(settled),
            ),
            percent_text(failed / settled) if settled else message("none ended"),
            message("crit") if failed else "",
        ),
        Kpi(
            message("Longest without recovery point"),
            duration_text(longest.longest_gap_ms) if longest else "–",
            due if longest else message("not known"),
        ),
        Kpi(message("Restarts"), count_text(restarts), down, message("warn") if restarts else ""),
        Kpi(
            message("Findings"),
            count_text(len(notable)),
            message(
                "{critical:number} critical, {notable:number} warning",
                critical=critical,
                notable=len(notable) - critical,
            ),
            message("crit") if critical else message("warn") if notable else "",
        ),
        Kpi(
            message("Alerts"),
            count_text(len(alerts)),
            message("{acknowledged:number} acknowledged", acknowledged=acknowledged)
            if alerts
            else message("none fired"),
        ),
    )


def _times(count: int) -> str:
    return (
        "once"
        if count == 1
        else "twice"
        if count == 2
        else message("{count:name} times", count=count_text(count))
    )
