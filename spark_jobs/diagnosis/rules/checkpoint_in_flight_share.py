"""Unaligned checkpoints write mostly data in flight between tasks: it is read and processed again
by a restore, and rewritten each time.

Flink reports the persisted in-flight data of a checkpoint since 1.14 (``persisted_data`` of
``/jobs/:jobid/checkpoints``); it is part of the bytes that the checkpoint wrote.
"""

from collections.abc import Iterator, Sequence
from statistics import median_low

from ingest.messages import message, plural
from spark_jobs.diagnosis.checkpoint_history import anything_known, completed, recent
from spark_jobs.diagnosis.findings import Evidence, Finding, NotJudged, Severity
from spark_jobs.diagnosis.losses import HOLD_S
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.subjects import job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold

RULE = "checkpoint.in_flight_share"
SHARE = f"{RULE}.share"
LEAST = f"{RULE}.least_bytes"
SEVERE = f"{RULE}.severe_bytes"
LOOK_BACK = f"{RULE}.look_back_s"
DEBLOATS_SINCE = (1, 14)
FEWEST = 3
"""Checkpoints: one alone may have met a burst."""


@rule(
    RULE,
    message("Checkpoints of data in flight"),
    message("Most of what unaligned checkpoints write is data in flight between tasks, not state."),
    fed_by="windows/1.20.5-L2",
    hold_s=HOLD_S,
    thresholds=(
        Threshold(
            SHARE,
            0.5,
            "ratio",
            0.01,
            1,
            message(
                "From half on, a checkpoint saves more data in flight between tasks than state."
            ),
        ),
        Threshold(
            LEAST,
            512 << 10,
            "bytes",
            0,
            1 << 50,
            message("Sixteen buffers of 32 KiB: less is written and read in no time."),
        ),
        Threshold(
            SEVERE,
            1 << 30,
            "bytes",
            1,
            1 << 60,
            message("A GiB in flight is minutes of input that a restore has to process again."),
        ),
        Threshold(
            LOOK_BACK,
            600,
            "s",
            60,
            86_400,
            message("Ten minutes hold several checkpoints at the usual intervals."),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if (
        anything_known(window)
        and window.config.mode is not None
        and not any(checkpoint.unaligned for checkpoint in window.checkpoints)
    ):
        return
    done = completed(recent(window, limits[LOOK_BACK]))
    if done and window.config.mode is None and all(sample.unaligned is None for sample in done):
        raise NotJudged(
            message("whether its checkpoints are unaligned, and how much of them is data in flight")
        )
    unaligned = [sample for sample in done if sample.unaligned]
    known = [
        sample
        for sample in unaligned
        if sample.persisted_bytes is not None and sample.checkpointed_bytes
    ]
    if unaligned and not known:
        raise NotJudged(
            message(
                "how much of its unaligned checkpoints is data in flight, which Flink reports "
                "since 1.14"
            )
        )
    if len(known) < FEWEST:
        return
    persisted = median_low(sample.persisted_bytes or 0 for sample in known)
    share = sum(sample.persisted_bytes or 0 for sample in known) / sum(
        sample.checkpointed_bytes or 0 for sample in known
    )
    if share >= limits[SHARE] and persisted >= limits[LEAST]:
        yield _finding(window, limits, known, min(share, 1.0), persisted)


def _finding(
    window: JobWindow,
    limits: Limits,
    known: Sequence[CheckpointSample],
    share: float,
    persisted: int,
) -> Finding:
    newest = known[-1]
    severity: Severity = "warning" if persisted >= limits[SEVERE] else "info"
    return job_finding(
        window,
        RULE,
        severity,
        "high",
        title=message(
            "{share:share} of what checkpoints write is data in flight, {persisted:bytes} each",
            share=share,
            persisted=persisted,
        ),
        cause=message(
            "Barriers pass the records that wait before slow tasks, and each checkpoint "
            "persists these records. A restore reads them back into the buffers before "
            "anything new is read, and the storage takes them again with every checkpoint."
        ),
        next_step=_next_step(window),
        seen_at_ms=newest.ended_ms,
        evidence=(
            limits.compared(
                message("data in flight of all that was written"),
                share,
                "ratio",
                ">=",
                SHARE,
                newest.ended_ms,
                _of(known),
            ),
            limits.compared(
                message("data in flight of a checkpoint"),
                persisted,
                "bytes",
                ">=",
                LEAST,
                newest.ended_ms,
                message("median"),
            ),
            Evidence(
                message("written by a checkpoint"),
                median_low(sample.checkpointed_bytes or 0 for sample in known),
                "bytes",
                note=message("median"),
            ),
            *_aligned_first(window),
        ),
        data={
            "share": share,
            "persisted_bytes": persisted,
            "checkpoints": [sample.checkpoint_id for sample in known],
        },
    )


def _of(known: Sequence[CheckpointSample]) -> str:
    return message(
        "of {known:message}",
        known=plural(
            len(known), "{count:count} unaligned checkpoint", "{count:count} unaligned checkpoints"
        ),
    )


def _next_step(window: JobWindow) -> str:
    debloat = (
        message(
            "Buffer debloating needs Flink 1.14. On this release, use fewer buffers "
            "(taskmanager.network.memory.buffers-per-channel, "
            "taskmanager.network.memory.floating-buffers-per-gate)."
        )
        if window.version is not None and window.version[:2] < DEBLOATS_SINCE
        else message(
            "Buffers are debloated already: a shorter "
            "taskmanager.network.memory.buffer-debloat.target (1 s by default) leaves less in them."
        )
        if window.debloats
        else message(
            "Set taskmanager.network.memory.buffer-debloat.enabled: true, so that about a "
            "second of input waits before a task, or fewer buffers "
            "(taskmanager.network.memory.buffers-per-channel, "
            "taskmanager.network.memory.floating-buffers-per-gate)."
        )
    )
    return message(
        "Find the task that holds the others up (back-pressure of this job); it is "
        "what fills the buffers. {debloat:message} The page In flight says how much "
        "can wait before and behind each vertex.",
        debloat=debloat,
    )


def _aligned_first(window: JobWindow) -> Iterator[Evidence]:
    timeout_ms = window.config.aligned_timeout_ms
    if timeout_ms:
        yield Evidence(
            message("aligned at first for"),
            timeout_ms,
            "ms",
            note=message("barriers pass records only after that"),
        )
