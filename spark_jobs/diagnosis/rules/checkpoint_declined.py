"""Does not count refusals before the start (``preflight``), nor checkpoints that a cancel or stop
(``aborted``) or a failed task (``failed``) discarded.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.messages import list_text, message, plural, subtask_text
from spark_jobs.diagnosis.checkpoint_history import name_of
from spark_jobs.diagnosis.checkpoint_reasons import ReasonWords, words_of
from spark_jobs.diagnosis.failure_causes.table import cause_of, code_of
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related
from spark_jobs.diagnosis.losses import (
    Losses,
    count_text,
    find_losses,
    loss_finding,
    loss_rule,
    missing_evidence,
    vertex_in,
)
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.stack_traces import condensed, without_middle
from spark_jobs.diagnosis.statistics import counts_of, largest_group

DECLINES_SHOWN = 20
VERTICES_SHOWN = 10
EXCEPTION_CHARS, FIRST_LINE_CHARS = 500, 300


@loss_rule(
    "declined",
    message("Checkpoints declined"),
    message("Tasks refused or failed their part of a checkpoint."),
    fed_by="windows/1.20.5-E",
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    losses = find_losses(window, "declined", limits)
    if losses is None:
        return
    declines = [
        {"checkpoint_id": sample.checkpoint_id, **decline}
        for sample in losses.lost
        for decline in sample.declines
    ]
    hosts = counts_of(decline["host"] for decline in declines if decline.get("host"))
    words, exception = words_of(losses.newest.reason), _exception(losses)
    cause = cause_of(exception)
    yield loss_finding(
        losses,
        is_harmless=all(words_of(sample.reason).is_harmless for sample in losses.lost),
        confidence="high" if declines else "medium",
        title=message(
            "{counted:text} declined{by_whom:text}",
            counted=count_text(losses.lost),
            by_whom=_by_whom(declines),
        ),
        cause=_cause(words, exception),
        next_step=cause.next_step if cause else words.next_step,
        counted_as=message("declined checkpoints"),
        evidence=_evidence(losses.newest, declines, exception),
        related=(
            Related("host", host, plural(count, "{count:count} decline", "{count:count} declines"))
            for host, count in hosts.items()
        ),
        data={
            "reason": losses.newest.reason,
            "cause": code_of(cause),
            "declines": declines[-DECLINES_SHOWN:],
        },
    )


def _by_whom(declines: list[dict[str, Any]]) -> str:
    if not declines:
        return ""
    task, _ = largest_group([_task(decline) for decline in declines])
    hosts = sorted(
        {decline["host"] for decline in declines if decline.get("host") and _task(decline) == task}
    )
    other_subtasks = len({_task(decline) for decline in declines}) - 1
    where = message(" on {hosts:name}", hosts=list_text(hosts)) if hosts else ""
    besides = (
        message(
            " and {others:message}",
            others=plural(
                other_subtasks, "{count:count} other subtask", "{count:count} other subtasks"
            ),
        )
        if other_subtasks
        else ""
    )
    return message(
        " by {task:name}{where:message}{besides:message}", task=task, where=where, besides=besides
    )


def _task(decline: Mapping[str, Any]) -> str:
    return subtask_text(vertex_in(decline), decline.get("subtask"))


def _exception(losses: Losses) -> str | None:
    exceptions = [
        decline["exception"]
        for sample in losses.lost
        for decline in sample.declines
        if decline.get("exception")
    ]
    return exceptions[-1] if exceptions else losses.newest.failure_message


def _cause(words: ReasonWords, exception: str | None) -> str:
    if not exception:
        return words.means
    return message(
        "{means:text} It threw: {without_middle:text}",
        means=words.means,
        without_middle=without_middle(exception.splitlines()[0], FIRST_LINE_CHARS),
    )


def _evidence(
    newest: CheckpointSample, declines: list[dict[str, Any]], exception: str | None
) -> Iterator[Evidence]:
    if declines:
        decline = declines[-1]
        yield Evidence(message("declined by"), _task(decline), note=name_of(newest))
        if decline.get("host"):
            yield Evidence(message("host"), decline["host"], note=decline.get("container") or "")
    for vertex in () if declines else newest.not_acknowledged[:VERTICES_SHOWN]:
        # REST does not say which of the subtasks without acknowledgement declined.
        indexes = ", ".join(str(index) for index in vertex.get("subtasks") or ())
        note = (
            message(
                "subtasks {indexes:name}; among those is the one that declined", indexes=indexes
            )
            if indexes
            else ""
        )
        yield missing_evidence(vertex, note)
    if newest.reason:
        yield Evidence(message("reason"), newest.reason, note=newest.reason_text or "")
    if exception:
        yield Evidence(message("exception"), condensed(exception, EXCEPTION_CHARS))
    if declines and declines[-1].get("log_line"):
        yield Evidence(message("log line"), declines[-1]["log_line"])
