from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ingest.job_states import NOT_LISTED
from ingest.messages import Message, join_messages, message, plural
from webapp.analyses.document import (
    Advice,
    Block,
    Chart,
    Column,
    Document,
    Fact,
    Facts,
    NotKnown,
    Table,
    Tone,
    Verdict,
)
from webapp.findings.presentation import PresentedFinding
from webapp.lib.instants import instant_text, span_text
from webapp.lib.quantities import bytes_text, count_text, duration_text, percent_text
from webapp.reports.document import Part
from webapp.reports.gathering.job_figures import JobFigures
from webapp.reports.gathering.matters import job_name, job_of
from webapp.reports.moments import Moment, most_important
from webapp.reports.report_scope import ReportScope

MOST_LINES, MOST_CAUSES, MOST_ACTIONS, MOST_MOMENTS = 5, 3, 4, 15
LONGEST_LINE = 450
"""Longer lines of these pages are cut; the appendix has whole texts."""
_SYMPTOMS = ("restart", "checkpoint", "storage")
"""Families of rules whose findings people notice; findings of other families are causes."""
_LONG_GAPS = 2.5
"""Gaps of more intervals than this are reported; one checkpoint may be late."""
_FIRST_MS = 60_000
"""Time for deployment and restore before the first checkpoint of a job."""
_ENDED = {
    "CANCELED": message("was canceled"),
    "FINISHED": "finished",
    "FAILED": message("failed for good"),
    "SUSPENDED": message("was suspended"),
    NOT_LISTED: message("was listed by its JobManager for the last time"),
}


@dataclass(frozen=True)
class Incident:
    """The gathered data. ``jobs``: the worst first; ``notable``: important findings."""

    scope: ReportScope
    jobs: Sequence[JobFigures]
    notable: Sequence[PresentedFinding]
    moments: Sequence[Moment]
    unknowns: Sequence[str]

    @property
    def has_several(self) -> bool:
        return len(self.jobs) > 1

    def findings_of(self, job: JobFigures) -> list[PresentedFinding]:
        return [presented for presented in self.notable if job_of(presented) == job.key]


def pages(incident: Incident) -> Document:
    return Document(Verdict(_tone(incident), _headline(incident)), tuple(_blocks(incident)))


def _blocks(incident: Incident) -> Iterator[Block]:
    yield Facts(tuple(_facts(incident)))
    nothing = message("Nothing that belongs in this report.")
    for title, lines in (
        (message("What happened"), _event_sentences(incident)),
        (message("Why"), _causes(incident)),
        (message("What it cost"), _costs(incident)),
        (message("What to do"), _actions(incident)),
        (message("What is not known"), incident.unknowns[:MOST_LINES] or (nothing,)),
    ):
        yield Advice(tuple(map(_shorten, lines)), title)
    if incident.jobs:
        name = incident.jobs[0].name
        yield Chart(
            "checkpoints",
            message("Checkpoints of {name:name}", name=name),
            subtitle="duration by phase of the slowest subtask; ● completed ✕ failed ◆ savepoint",
        )
    shown = most_important(incident.moments, MOST_MOMENTS)
    job_column = ("job_name",) if incident.has_several else ()
    table = timeline(shown, "at", "until", "title", "detail", *job_column)
    yield replace(table, total=len(incident.moments))


def all_unknowns(unknowns: Sequence[str]) -> Part:
    count = plural(len(unknowns), "{count:count} gap", "{count:count} gaps")
    blocks = tuple(map(NotKnown, unknowns))
    return Part(
        "unknown", message("What is not known"), Document(Verdict("unknown", count), blocks)
    )


def timeline(moments: Sequence[Moment], *keys: str) -> Table:
    columns = {
        "at": Column("at", "At", "instant"),
        "until": Column("until", "Until", "instant"),
        "kind": Column("kind", "Kind"),
        "title": Column("title", "What"),
        "detail": Column("detail", "Detail"),
        "job_name": Column("job_name", "Job"),
    }
    return Table(
        "timeline",
        "Time line",
        tuple(columns[key] for key in keys),
        tuple(tuple(getattr(moment, key) for key in keys) for moment in moments),
        empty="No checkpoint failed, nothing restarted, nothing was found.",
        total=len(moments),
    )


def title(incident: Incident, headline: str) -> str:
    if not incident.jobs:
        return message("None of these jobs is known")
    first = incident.jobs[0].name
    if incident.has_several:
        others = len(incident.jobs) - 1
        return message(
            "{name:name} and {stories:message}",
            name=first,
            stories=plural(others, "{count:count} other job", "{count:count} other jobs"),
        )
    worst = _symptom(incident.notable)
    return message(
        "{name:name}: {trouble:text}", name=first, trouble=worst.rule_title if worst else headline
    )


def worst_first(
    jobs: Sequence[JobFigures], notable: Sequence[PresentedFinding]
) -> list[JobFigures]:
    def badness(job: JobFigures) -> tuple[bool, int, int, int, int]:
        ranks = [
            presented.finding.severity_rank for presented in notable if job_of(presented) == job.key
        ]
        worst = max(ranks, default=0)
        return job.has_failed, worst, job.restarts, job.checkpoints.failed, len(ranks)

    return sorted(jobs, key=badness, reverse=True)


def _symptom(notable: Sequence[PresentedFinding]) -> PresentedFinding | None:
    """The first finding of a symptom, else the first finding."""
    symptoms = [
        presented for presented in notable if presented.finding.rule.split(".", 1)[0] in _SYMPTOMS
    ]
    return next(iter([*symptoms, *notable]), None)


def _tone(incident: Incident) -> Tone:
    jobs = incident.jobs
    is_critical = any(presented.severity.tone == "crit" for presented in incident.notable)
    if is_critical or any(job.has_failed for job in jobs):
        return "crit"
    if incident.notable or any(job.checkpoints.failed or job.restarts for job in jobs):
        return "warn"
    return "unknown" if any(job.job.judged_at is None for job in jobs) else "ok"


def _headline(incident: Incident) -> str:
    jobs, notable = incident.jobs, incident.notable
    if worst := _symptom((incident.findings_of(jobs[0]) if jobs else []) or notable):
        # All attempts of a job count as one job.
        first_ids: dict[tuple[str, str], tuple[str, str]] = {
            job.key: (job.key[0], job.job.first_attempt_id or job.key[1]) for job in jobs
        }
        keys = {job_of(presented) for presented in notable if presented.finding.job_id}
        troubled = {first_ids.get(key, key) for key in keys}
        count = len(set(first_ids.values()))
        if count > 1 and troubled:
            return message(
                "{troubled:number} of {stories:number} jobs in trouble, {name:name} worst",
                troubled=len(troubled),
                stories=count,
                name=jobs[0].name,
            )
        title: str = worst.finding.title
        return title
    if failed := sum(job.checkpoints.failed for job in jobs):
        return message(
            "{failed:name} checkpoints failed; no rule found more than that",
            failed=count_text(failed),
        )
    if restarts := sum(job.restarts for job in jobs):
        return message(
            "{times:text} restarted; no rule found more than that", times=_times(restarts)
        )
    if any(job.job.judged_at is None for job in jobs):
        return message("Not known: not every job was judged in this time")
    return message("Nothing was found wrong in this time")


def _facts(incident: Incident) -> Iterator[Fact]:
    jobs = incident.jobs
    settled = sum(job.checkpoints.settled for job in jobs)
    failed = sum(job.checkpoints.failed for job in jobs)
    gaps = [job for job in jobs if job.checkpoints.gap]
    longest = max(gaps, key=lambda job: job.checkpoints.longest_gap_ms or 0, default=None)
    outages = [outage for job in jobs for outage in job.outages]
    down_ms = sum(outage.downtime_ms or outage.at_least_ms or 0 for outage in outages)
    yield Fact("when", "When", _when(incident))
    yield Fact(
        "checkpoints_failed",
        "Checkpoints failed",
        failed,
        "count",
        message(
            "of {settled:name} ({share:name})",
            settled=count_text(settled),
            share=percent_text(failed / settled),
        )
        if settled
        else message("none ended"),
    )
    yield Fact(
        "longest_gap_ms",
        "Longest without recovery point",
        longest.checkpoints.longest_gap_ms if longest else None,
        "ms",
        message("due every {interval_ms:name}", interval_ms=duration_text(longest.interval_ms))
        if longest and longest.interval_ms
        else "",
    )
    down = message("down for {down_ms:name}", down_ms=duration_text(down_ms)) if down_ms else ""
    yield Fact("restarts", "Restarts", sum(job.restarts for job in jobs), "count", down)


def _when(incident: Incident) -> str:
    signs = [at for job in incident.jobs for at in job.signs]
    rows = [presented.finding for presented in incident.notable]
    began = min((*signs, *(row.first_seen for row in rows)), default=None)
    ended = max((*signs, *(row.last_seen for row in rows)), default=None)
    if began is None or ended is None:
        between = _range(incident.scope.start, incident.scope.end)
        return message("Looked at: {range:name}.", range=between)
    still = (
        message(" Still going on when this report was made.")
        if any(presented.is_open for presented in incident.notable)
        else ""
    )
    if ended - began < timedelta(seconds=1):
        return message("{range:name}.{still:message}", range=_range(began, ended), still=still)
    return message(
        "{range:name}, for {began:name}.{still:message}",
        range=_range(began, ended),
        began=span_text(began, ended),
        still=still,
    )


def _range(start: datetime, end: datetime) -> str:
    if end - start < timedelta(seconds=1):
        return instant_text(start)
    day = "" if start.date() == end.date() else f"{end:%Y-%m-%d} "
    return f"{start:%Y-%m-%d %H:%M:%S} – {day}{end:%H:%M:%S} UTC"


def _event_sentences(incident: Incident) -> Iterator[str]:
    for job in incident.jobs[:MOST_LINES]:
        sentences = list(_sentences(job))
        if incident.has_several:
            worst = _symptom(incident.findings_of(job))
            if worst:
                sentences.insert(0, message("{title:text}.", title=worst.finding.title))
            yield message(
                "{name:name}: {found:message}", name=job.name, found=join_messages(sentences, " ")
            )
        else:
            yield from sentences
    if more := max(len(incident.jobs) - MOST_LINES, 0):
        yield message("And {stories:number} more jobs, below.", stories=more)


def _sentences(job: JobFigures) -> Iterator[str]:
    checkpoints, row = job.checkpoints, job.job
    settled = count_text(checkpoints.settled)
    hours = message(" (by whole hours, savepoints included)") if checkpoints.by_hours else ""
    if checkpoints.settled and checkpoints.by_outcome.keys() == {"completed"}:
        yield message(
            "All {settled:name} checkpoints completed{hours:message}.", settled=settled, hours=hours
        )
    elif checkpoints.settled:
        counted = (
            message("{count:count} {outcome:name}", count=count, outcome=_outcome_words(outcome))
            for outcome, count in checkpoints.by_outcome.items()
        )
        parts = join_messages(counted, ", ")
        yield message(
            "{failed:name} of {settled:name} checkpoints failed{hours:message}{words:message}.",
            failed=count_text(checkpoints.failed),
            settled=settled,
            hours=hours,
            words=message(": {parts:message}", parts=parts),
        )
    else:
        yield message("No checkpoint ended in this time.")
    if job.restarts:
        thrown = next((thrown.newest for thrown in job.thrown), None)
        by = (
            message(
                "; thrown: {name:name} in {task:name}",
                name=thrown.exception_name,
                task=thrown.task or message("whole job"),
            )
            if thrown
            else ""
        )
        yield message(
            "The job restarted {times:text}{by:message}.", times=_times(job.restarts), by=by
        )
    if row.end_time and row.state in _ENDED:
        yield message(
            "The job {ended:text} at {ended_at:name}.",
            ended=_ENDED[row.state],
            ended_at=instant_text(row.end_time),
        )


def _outcome_words(outcome: str) -> Message:
    return message("failed for another reason") if outcome == "failed" else Message(outcome, {})


def _causes(incident: Incident) -> Iterator[str]:
    for presented in _first_of_each(incident)[:MOST_CAUSES]:
        way = (
            message(" The way: {join:name}.", join=" → ".join(presented.longest_way))
            if len(presented.longest_way) > 1 and presented.finding.rule.startswith("pressure.")
            else ""
        )
        lead = _name_job(incident, presented, presented.finding.title)
        yield join_messages((lead, ". ", presented.finding.cause, way))
    if not incident.notable:
        if any(job.checkpoints.failed or job.restarts for job in incident.jobs):
            yield message(
                "Not known: no rule named a cause. Look at the time line, the exceptions and the "
                "log of the job."
            )
        else:
            yield message("None found: no rule fired on these jobs in this time.")


def _name_job(incident: Incident, presented: PresentedFinding, words: str) -> str:
    if not incident.has_several or not presented.finding.job_id:
        return words
    return message("{job_name:name}: {title:text}", job_name=job_name(presented), title=words)


def _actions(incident: Incident) -> list[str]:
    steps: dict[str, str] = {}
    for presented in _first_of_each(incident):
        step = presented.finding.next_step
        lead = _name_job(incident, presented, presented.rule_title)
        steps.setdefault(step, join_messages((lead, ". ", step)))
    return list(steps.values())[:MOST_ACTIONS] or [message("There is nothing to act on.")]


def _first_of_each(incident: Incident) -> list[PresentedFinding]:
    """The worst finding of each job, or of each rule of the only job."""
    first: dict[tuple[str, ...], PresentedFinding] = {}
    for presented in incident.notable:
        rule = "" if incident.has_several else presented.finding.rule
        first.setdefault((*job_of(presented), rule), presented)
    return list(first.values())


def _costs(incident: Incident) -> list[str]:
    lines: list[str] = []
    for job in incident.jobs[:MOST_LINES]:
        costs = list(_cost(job, incident.findings_of(job)))
        if incident.has_several:
            costs = [
                message("{name:name}: {found:message}", name=job.name, found=cost)
                for cost in costs[:1]
            ]
        lines += costs
    return lines or [message("None: no checkpoint failed and no job restarted.")]


def _cost(job: JobFigures, notable: Sequence[PresentedFinding]) -> Iterator[str]:
    yield from _downtime(job)
    checkpoints, gap_ms = job.checkpoints, job.checkpoints.longest_gap_ms
    is_normal_start = checkpoints.gap_is_first and not checkpoints.failed and not job.restarts
    least_ms = max(_LONG_GAPS * (job.interval_ms or 0), _FIRST_MS if is_normal_start else 0)
    if checkpoints.gap and gap_ms is not None and gap_ms > least_ms:
        yield message(
            "No checkpoint completed for {gap_ms:name}, {range:name}; a failure at its end would "
            "have replayed all of it.",
            gap_ms=duration_text(gap_ms),
            range=_range(*checkpoints.gap),
        )
    if lost := checkpoints.failed:
        points = plural(lost, "{count:count} recovery point", "{count:count} recovery points")
        yield message("{failed:message} lost.", failed=points)
    if checkpoints.wasted_bytes:
        yield message(
            "At least {wasted_bytes:name} were uploaded for checkpoints that failed.",
            wasted_bytes=bytes_text(checkpoints.wasted_bytes),
        )
    rows = [presented.finding for presented in notable]
    excesses = [row.data.get("excess_bytes") for row in rows if isinstance(row.data, dict)]
    if excess := sum(size for size in excesses if isinstance(size, int)):
        yield message("{excess:name} were uploaded in excess.", excess=bytes_text(excess))
    for row in rows:
        if row.rule in ("pressure.root", "pressure.outbound") and row.last_seen > row.first_seen:
            yield message(
                "Records were back-pressured by {subject:name} for at least {first_seen:name}.",
                subject=row.subject,
                first_seen=span_text(row.first_seen, row.last_seen),
            )
    if job.has_failed:
        yield message("The job is gone: it failed for good and does not come back by itself.")


def _downtime(job: JobFigures) -> Iterator[str]:
    if job.restarts and not job.outages:
        yield message(
            "It restarted {times:text}; for how long its tasks were down is not known.",
            times=_times(job.restarts),
        )
    downtimes_ms = [outage.downtime_ms for outage in job.outages if outage.downtime_ms is not None]
    if downtimes_ms:
        yield message(
            "Down for {sum:name} in {times:message}.",
            sum=duration_text(sum(downtimes_ms)),
            times=plural(len(downtimes_ms), "{count:count} outage", "{count:count} outages"),
        )
    open_ended = [outage for outage in job.outages if outage.downtime_ms is None]
    if open_ended:
        at_least_ms = sum(outage.at_least_ms or 0 for outage in open_ended)
        restarts = plural(len(open_ended), "{count:count} restart", "{count:count} restarts")
        certain = (
            message(", at least {at_least_ms:name} in all", at_least_ms=duration_text(at_least_ms))
            if at_least_ms
            else ""
        )
        yield message(
            "For {least:message} it is not known when all tasks ran again{certain:message}.",
            least=restarts,
            certain=certain,
        )
    reprocessed_ms = [
        outage.reprocessed_ms for outage in job.outages if outage.reprocessed_ms is not None
    ]
    if reprocessed_ms:
        oldest = message(
            "the restored checkpoints were up to {max:name} old",
            max=duration_text(max(reprocessed_ms)),
        )
        yield message(
            "Processed again: the records of {sum:name}; {oldest:message}.",
            sum=duration_text(sum(reprocessed_ms)),
            oldest=oldest,
        )


def _shorten(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1].rstrip()}…"


def _times(count: int) -> str:
    if count == 1:
        return "once"
    if count == 2:
        return "twice"
    return message("{count:name} times", count=count_text(count))
