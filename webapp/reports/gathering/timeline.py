"""The time line: what happened to the chosen jobs, in order, runs of the same thing as one line.

Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ingest.messages import join_messages, message
from webapp.checkpoints.reasons import in_words
from webapp.lib.quantities import bytes_text, duration_text
from webapp.reports.document import ChartMark, JobStory, Moment, ReportedAlert, ReportedFinding
from webapp.reports.gathering.checkpoint_figures import Outline
from webapp.reports.gathering.events import belongs_to_timeline
from webapp.reports.gathering.rule_findings import is_notable

MOST_MOMENTS = 250
MOST_RUNS = 25
"""Runs of failed checkpoints of one job; with more of them, runs of the same reason are shown as
one across what completed between.
"""
_RANK = {"crit": 3, "warn": 2, "ok": 1, "done": 1}
_TONE_OF_SEVERITY = {"critical": "crit", "warning": "warn"}
_TONE_OF_MARK = {
    "restart": "warn",
    "failure": "crit",
    "taskmanager_lost": "crit",
    "deploy": "done",
    "restore": "done",
    "terminal": "done",
    "savepoint": "done",
    "operator": "done",
}
_TITLE_OF_MARK = {
    "deploy": "Job {}",
    "terminal": "Job {}",
    "restart": "Restart: {}",
    "restore": "Restored: {}",
    "failure": "Failure: {}",
}


def timeline(
    of_jobs: Iterable[Moment], findings: Sequence[ReportedFinding], alerts: Sequence[ReportedAlert]
) -> tuple[tuple[Moment, ...], int]:
    """Oldest first, and how many of the least important were left out.

    ``of_jobs`` are those of :func:`of_job`, of all jobs.
    """
    moments = list(of_jobs)
    moments += [
        moment for finding in findings if is_notable(finding) for moment in [_of_finding(finding)]
    ]
    moments += [moment for alert in alerts for moment in _of_alert(alert)]
    return tuple(sorted(most_important(moments), key=lambda moment: moment.at)), max(
        len(moments) - MOST_MOMENTS, 0
    )


def most_important(moments: Iterable[Moment]) -> tuple[Moment, ...]:
    """At most as many as a time line holds, in no order."""
    return tuple(sorted(moments, key=lambda moment: -_RANK.get(moment.tone, 0))[:MOST_MOMENTS])


def of_job(story: JobStory, outlines: Sequence[Outline]) -> Iterator[Moment]:
    """What happened to one job, in no order."""
    yield from _of_checkpoints(outlines, story.name)
    for mark in story.marks:
        if mark.kind != "savepoint":
            tone = (
                "crit"
                if mark.kind == "terminal" and "fail" in mark.label.lower()
                else _TONE_OF_MARK.get(mark.kind, "done")
            )
            yield Moment(mark.at, mark.kind, tone, _marked(mark), job_name=story.name)
    for exception in story.exceptions:
        where = " on ".join(filter(None, (exception.task, exception.host)))
        more = (
            message("; {more:number} more of its name before", more=exception.more)
            if exception.more
            else ""
        )
        yield Moment(
            exception.at,
            "exception",
            "crit",
            message("Exception {name:name}", name=exception.name),
            message("in {where:name}{more:message}", where=where, more=more),
            job_name=story.name,
        )
    for line in story.logs:
        if belongs_to_timeline(line):
            tone = "crit" if line.level in ("ERROR", "FATAL") else "warn"
            text = " · ".join(filter(None, (line.where, line.text.partition("\n")[0])))
            yield Moment(
                line.at,
                "log",
                tone,
                message("Log: {replace:name}", replace=line.kind.replace("_", " ")),
                text,
                job_name=story.name,
            )


def _marked(mark: ChartMark) -> str:
    """'Restart 1' rather than 'Restart: restart 1'."""
    if mark.label.lower().startswith(mark.kind):
        return mark.label[:1].upper() + mark.label[1:]
    return _TITLE_OF_MARK.get(mark.kind, "{}").format(mark.label)


def _of_checkpoints(outlines: Sequence[Outline], name: str) -> Iterator[Moment]:
    own = [outline for outline in outlines if not outline.is_savepoint]
    for savepoint in (outline for outline in outlines if outline.is_savepoint):
        yield _savepoint(savepoint, name)
    runs = [
        list(run)
        for failed, run in groupby(
            own,
            key=lambda outline: (
                (outline.failed, outline.outcome, outline.reason) if outline.failed else None
            ),
        )
        if failed
    ]
    if len(runs) > MOST_RUNS:
        failures = sorted(
            (outline for outline in own if outline.failed),
            key=lambda outline: (outline.outcome, outline.reason or ""),
        )
        runs = [
            list(run)
            for _key, run in groupby(
                failures, key=lambda failure: (failure.outcome, failure.reason)
            )
        ]
    for run in runs:
        run.sort(key=lambda outline: outline.trigger_time)
        yield _run(run, own, name)
        after = next(
            (
                outline
                for outline in own
                if outline.outcome == "completed" and outline.trigger_time > run[-1].trigger_time
            ),
            None,
        )
        if after is not None and len(run) > 1:
            took = (
                message(
                    "It took {end_to_end_ms:name}.",
                    end_to_end_ms=duration_text(after.end_to_end_ms),
                )
                if after.end_to_end_ms is not None
                else ""
            )
            yield Moment(
                after.ended_at,
                "recovered",
                "ok",
                message(
                    "Checkpoint {checkpoint_id:number} completed, the first after {run:number} "
                    "failures",
                    checkpoint_id=after.checkpoint_id,
                    run=len(run),
                ),
                took,
                job_name=name,
            )


def _run(run: Sequence[Outline], own: Sequence[Outline], name: str) -> Moment:
    first, last = run[0], run[-1]
    between = sum(
        first.trigger_time < outline.trigger_time < last.trigger_time
        and outline.outcome == "completed"
        for outline in own
    )
    detail = join_messages(
        filter(
            None,
            (
                in_words(first.reason, ""),
                message("{between:number} completed between them.", between=between)
                if between
                else "",
            ),
        ),
        " ",
    )
    if len(run) == 1:
        return Moment(
            first.ended_at,
            "checkpoint",
            "crit",
            message(
                "Checkpoint {checkpoint_id:number} {outcome:name}",
                checkpoint_id=first.checkpoint_id,
                outcome=first.outcome,
            ),
            detail,
            job_name=name,
        )
    title = message(
        "{run:number} checkpoints {outcome:name}: {checkpoint_id:number} to "
        "{checkpoint_id2:number}",
        run=len(run),
        outcome=first.outcome,
        checkpoint_id=first.checkpoint_id,
        checkpoint_id2=last.checkpoint_id,
    )
    return Moment(first.ended_at, "checkpoint", "crit", title, detail, last.ended_at, name)


def _savepoint(outline: Outline, name: str) -> Moment:
    took = (
        [message("took {end_to_end_ms:name}", end_to_end_ms=duration_text(outline.end_to_end_ms))]
        if outline.end_to_end_ms is not None
        else []
    )
    wrote = (
        [
            message(
                "wrote {checkpointed_bytes:name}",
                checkpointed_bytes=bytes_text(outline.checkpointed_bytes),
            )
        ]
        if outline.checkpointed_bytes is not None
        else []
    )
    tone = "crit" if outline.failed else "done"
    return Moment(
        outline.ended_at,
        "savepoint",
        tone,
        message(
            "Savepoint {checkpoint_id:number} {outcome:name}",
            checkpoint_id=outline.checkpoint_id,
            outcome=outline.outcome,
        ),
        join_messages([*took, *wrote], ", "),
        job_name=name,
    )


def _of_finding(finding: ReportedFinding) -> Moment:
    tone = _TONE_OF_SEVERITY.get(finding.severity, "done")
    kind = "pressure" if finding.rule.startswith("pressure.") else "finding"
    until = finding.last_seen if finding.last_seen > finding.first_seen else None
    detail = (
        message("{rule_title:text}. Still open.", rule_title=finding.rule_title)
        if finding.is_open
        else message("{rule_title:text}.", rule_title=finding.rule_title)
    )
    return Moment(
        finding.first_seen,
        kind,
        tone,
        message("Found: {title:text}", title=finding.title),
        detail,
        until,
        finding.job_name if finding.job_id else "",
    )


def _of_alert(alert: ReportedAlert) -> Iterable[Moment]:
    if alert.fired_at:
        tone = _TONE_OF_SEVERITY.get(alert.severity, "done")
        again = (
            message("It fired {firings:number} times.", firings=alert.firings)
            if alert.firings > 1
            else ""
        )
        yield Moment(
            alert.fired_at,
            "alert",
            tone,
            message("Alert fired: {title:text}", title=alert.title),
            again,
            job_name=alert.job_name,
        )
    if alert.acknowledged_at:
        comment = f"“{alert.comment}”" if alert.comment else ""
        yield Moment(
            alert.acknowledged_at,
            "alert",
            "done",
            message(
                "{acknowledged_by:name} acknowledged: {title:text}",
                acknowledged_by=alert.acknowledged_by or "Somebody",
                title=alert.title,
            ),
            comment,
            job_name=alert.job_name,
        )
    if alert.resolved_at:
        yield Moment(
            alert.resolved_at,
            "alert",
            "ok",
            message("Alert resolved: {title:text}", title=alert.title),
            job_name=alert.job_name,
        )
