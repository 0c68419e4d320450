"""Lost checkpoints of one outcome: number, share, and how many more the job tolerates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from ingest.messages import brief, join_messages, message, plural
from spark_jobs.diagnosis.checkpoint_history import (
    FAILED_OUTCOMES,
    NO_ID,
    consecutive_failures,
    recent,
)
from spark_jobs.diagnosis.findings import Confidence, Evidence, Finding, Limits, Severity, Threshold
from spark_jobs.diagnosis.rule import Words, job_finding, rule
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow

NEVER = 2**31 - 1
"""``tolerable-failed-checkpoints`` if lost checkpoints never fail the job."""

CRITICAL_AT_LEAST = 4
"""A lost share of fewer checkpoints is no trend."""


def loss_rule(
    outcome: str, title: str, summary: str, *, fed_by: str, reads: tuple[str, ...] = ()
) -> rule:
    """The rule ``checkpoint.<outcome>``."""
    rule_id = f"checkpoint.{outcome}"
    thresholds = (
        Threshold(
            f"{rule_id}.look_back_s",
            600,
            "s",
            60,
            86_400,
            message(
                "Ten minutes hold several checkpoints at the usual intervals, and are what an "
                "on-call reader means by 'now'."
            ),
        ),
        Threshold(
            f"{rule_id}.critical_share",
            0.5,
            "ratio",
            0.05,
            1,
            message(
                "When every second checkpoint is lost, recovery replays twice as much as the "
                "interval was chosen for."
            ),
        ),
        Threshold(
            f"{rule_id}.tolerance_left",
            1,
            "failures",
            0,
            1_000,
            message(
                "With one tolerable failure left, the second failure from now restarts the job."
            ),
        ),
    )
    # Several checkpoints at the usual intervals of up to five minutes.
    hold_s = 900
    return rule(
        rule_id, title, summary, hold_s=hold_s, thresholds=thresholds, reads=reads, fed_by=fed_by
    )


@dataclass(frozen=True)
class Losses:
    """``lost``: checkpoints with the rule's outcome, oldest first. ``periodic``: number of
    checkpoints without savepoints; ``periodic_lost``: how many of these were lost. ``consecutive``:
    failures in a row that Flink counts.
    """

    window: JobWindow
    rule: str
    limits: Limits
    lost: tuple[CheckpointSample, ...]
    periodic: int
    periodic_lost: int
    consecutive: int

    @property
    def newest(self) -> CheckpointSample:
        return max(self.lost, key=lambda sample: (sample.ended_ms, sample.checkpoint_id))

    @property
    def share(self) -> float:
        return self.periodic_lost / self.periodic if self.periodic else 0.0

    @property
    def tolerance_left(self) -> int | None:
        tolerable = self.window.config.tolerable_failed
        if tolerable is None or tolerable >= NEVER:
            return None
        return max(0, tolerable - self.consecutive)

    @property
    def severity(self) -> Severity:
        left, limits = self.tolerance_left, self.limits
        if left is not None and self.consecutive and left <= limits[f"{self.rule}.tolerance_left"]:
            return "critical"
        is_high = self.share >= limits[f"{self.rule}.critical_share"]
        return "critical" if is_high and self.periodic >= CRITICAL_AT_LEAST else "warning"


def find_losses(window: JobWindow, outcome: str, limits: Limits) -> Losses | None:
    """For the rule ``checkpoint.<outcome>``: None if no checkpoint has this outcome. Raises
    NotJudged if no checkpoint is known.
    """
    rule = f"checkpoint.{outcome}"
    ended = recent(window, limits[f"{rule}.look_back_s"])
    lost = tuple(sample for sample in ended if sample.outcome == outcome)
    if not lost:
        return None
    judged = [
        sample
        for sample in ended
        if not sample.is_savepoint and sample.outcome in ("completed", *FAILED_OUTCOMES)
    ]
    lost_of_judged = sum(sample.outcome != "completed" for sample in judged)
    return Losses(
        window, rule, limits, lost, len(judged), lost_of_judged, consecutive_failures(window)
    )


def loss_finding(
    losses: Losses,
    *,
    confidence: Confidence,
    counted_as: str,
    is_harmless: bool = False,
    **words: Unpack[Words],
) -> Finding:
    checkpoint_ids = [
        sample.checkpoint_id for sample in losses.lost if sample.checkpoint_id != NO_ID
    ]
    words["next_step"] = join_messages((words["next_step"], _consequence(losses)), " ")
    words["seen_at_ms"] = losses.newest.ended_ms
    words["began_at_ms"] = min(sample.ended_ms for sample in losses.lost)
    words["evidence"] = (*_evidence(losses, counted_as), *words["evidence"])
    words["data"] = {"checkpoints": checkpoint_ids, **words.get("data", {})}
    severity = "info" if is_harmless else losses.severity
    return job_finding(losses.window, losses.rule, severity, confidence, **words)


def _evidence(losses: Losses, counted_as: str) -> Iterator[Evidence]:
    rule, limits = losses.rule, losses.limits
    span = message("within {limits:duration}", limits=limits[f"{rule}.look_back_s"] * 1000)
    yield Evidence(counted_as, len(losses.lost), "count", 1, ">=", note=span)
    if losses.periodic:
        yield limits.evidence(
            message("share of checkpoints lost for any reason"),
            losses.share,
            f"{rule}.critical_share",
            message(
                "{periodic_lost:number} of {periodic:number}, savepoints left out",
                periodic_lost=losses.periodic_lost,
                periodic=losses.periodic,
            ),
        )
    if losses.tolerance_left is not None:
        yield limits.evidence(
            message("tolerable failures left"),
            losses.tolerance_left,
            f"{rule}.tolerance_left",
            message(
                "{consecutive:number} in a row of {tolerable:name} tolerable ones",
                consecutive=losses.consecutive,
                tolerable=str(losses.window.config.tolerable_failed),
            ),
            comparison="<=",
        )


def _consequence(losses: Losses) -> str:
    tolerable, left = losses.window.config.tolerable_failed, losses.tolerance_left
    if tolerable is None:
        return message(
            "How many failures in a row the job tolerates is not known "
            "(tolerable-failed-checkpoints)."
        )
    if left is None:
        return message(
            "The settings let the job continue no matter how many checkpoints it loses, but a "
            "recovery must replay more and more records."
        )
    if tolerable == 0:
        return message(
            "tolerable-failed-checkpoints is 0: each counted failure fails the job, which restarts "
            "from its last completed checkpoint."
        )
    return message(
        "The job tolerates {left:number} more in a row; beyond that Flink fails it, and it "
        "restarts from its last completed checkpoint.",
        left=left,
    )


def vertex_in(document: Mapping[str, Any]) -> str:
    """The vertex of a decline or of missing acknowledgements; may be empty."""
    return str(document.get("vertex_name") or document.get("vertex_id") or "")


def missing_evidence(vertex: Mapping[str, Any], note: str) -> Evidence:
    name = brief(vertex_in(vertex) or message("unnamed tasks"))
    words = message("not acknowledged by {name:name}", name=name)
    return Evidence(words, vertex.get("count"), "count", note=note)


def count_text(lost: Sequence[CheckpointSample]) -> str:
    savepoints = sum(bool(sample.is_savepoint) for sample in lost)
    if 0 < savepoints < len(lost):
        return message("{lost:number} checkpoints and savepoints", lost=len(lost))
    if savepoints:
        return plural(len(lost), "{count:count} savepoint", "{count:count} savepoints")
    return plural(len(lost), "{count:count} checkpoint", "{count:count} checkpoints")
