"""Why one checkpoint failed, was slow or was large, from its facts and the rules' findings."""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext

from spark_jobs.diagnosis.checkpoint_reasons import LOST_WITH_JOB
from spark_jobs.serving import FAILED_OUTCOMES, PHASES, UNSETTLED_OUTCOMES
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.reasons import next_step, reason_sentence
from webapp.findings.job_findings import ORIGIN_RULES
from webapp.findings.models import WORST_FIRST, Finding
from webapp.findings.presentation import PresentedFinding, present
from webapp.fleet.models import JobAnnotation
from webapp.lib.badges import UNKNOWN, Badge
from webapp.lib.instants import drawable
from webapp.lib.quantities import bytes_text, count_text, duration_text, times_text
from webapp.lib.translations import gettext_lazy as _

OUTCOME_BADGES: dict[str, Badge] = {
    "completed": Badge("completed", "●", "ok"),
    "declined": Badge("declined", "✕", "crit"),
    "expired": Badge("expired", "✕", "crit"),
    "failed": Badge("failed", "✕", "crit"),
    "aborted": Badge("aborted", "–", "unknown"),
    "subsumed": Badge("subsumed", "–", "unknown"),
    "preflight": Badge("refused before start", "–", "unknown"),
    "in_progress": Badge("in progress", "□", "done"),
}


def outcome_badge(outcome: str | None) -> Badge:
    return OUTCOME_BADGES.get(outcome or "", UNKNOWN)


MOST_USUAL = 20
SLOW_TIMES, SLOW_LEAST_MS = 2.0, 1_000
LARGE_TIMES, LARGE_LEAST_BYTES = 3.0, 1_000_000
"""Incremental uploads vary by themselves."""
_MEASURES: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("End to end", "end_to_end_ms", duration_text),
    *(
        (phase.replace("_", " ").capitalize(), f"slowest_{phase}_ms", duration_text)
        for phase in PHASES
    ),
    ("Full state", "state_bytes", bytes_text),
    ("Uploaded", "checkpointed_bytes", bytes_text),
)
_COLUMNS = (
    "checkpoint_id",
    "trigger_time",
    "cluster",
    "job_id",
    "acknowledged",
    *(field for _title, field, _text in _MEASURES),
)
_MOST_ANNOTATIONS = 12
_NOTEWORTHY = (
    "restart",
    "restore",
    "rescale",
    "deploy",
    "failure",
    "taskmanager_lost",
    "savepoint",
    "operator",
)


@dataclass(frozen=True)
class Row:
    """``change``: empty if a value is unknown. ``is_worse``: at least doubled, and noticeable."""

    title: str
    before: str
    now: str
    change: str
    is_worse: bool


@dataclass(frozen=True)
class CheckpointComparison:
    """``good``: the last completed checkpoint before. ``slow``, ``large``: sentences, or empty."""

    good: CheckpointFact | None
    rows: tuple[Row, ...]
    failed_between: int
    savepoints_between: int
    annotations: tuple[JobAnnotation, ...]
    slow: str
    large: str


def compare(fact: CheckpointFact) -> CheckpointComparison:
    """Makes three queries for jobs of any age."""
    earlier = CheckpointFact.objects.filter(**fact.identity, trigger_time__lt=fact.trigger_time)
    periodic = Q(is_savepoint=False) | Q(is_savepoint__isnull=True)
    usual = list(
        earlier.filter(periodic, outcome="completed")
        .order_by("-trigger_time", "-id")
        .only(*_COLUMNS)[:MOST_USUAL]
    )
    if not usual:
        return CheckpointComparison(None, (), 0, 0, (), "", "")
    good = usual[0]
    between = earlier.filter(trigger_time__gt=good.trigger_time).aggregate(
        failed=Count("id", filter=periodic & Q(outcome__in=FAILED_OUTCOMES)),
        savepoints=Count("id", filter=Q(is_savepoint=True)),
    )
    annotations = JobAnnotation.objects.filter(
        **fact.identity,
        kind__in=_NOTEWORTHY,
        at__gt=good.trigger_time,
        at__lte=fact.end_time or fact.trigger_time,
    )
    is_judged = fact.outcome == "completed" and not fact.is_savepoint
    return CheckpointComparison(
        good,
        tuple(_rows(good, fact)),
        between["failed"],
        between["savepoints"],
        tuple(annotations.order_by("at", "id")[:_MOST_ANNOTATIONS]),
        _slow(fact, usual) if is_judged else "",
        _large(fact, usual) if is_judged else "",
    )


def _rows(good: CheckpointFact, fact: CheckpointFact) -> Iterator[Row]:
    if fact.outcome != "completed":
        yield _row("End to end", good.end_to_end_ms, fact.end_to_end_ms, duration_text)
        yield _row(
            gettext("Acknowledged subtasks"), good.acknowledged, fact.acknowledged, count_text
        )
        return
    for title, field, text in _MEASURES:
        yield _row(gettext(title), getattr(good, field), getattr(fact, field), text)


def _row(
    title: str, before: float | None, now: float | None, text: Callable[[float | None], str]
) -> Row:
    change, is_worse = "", False
    if before is not None and now is not None:
        least = SLOW_LEAST_MS if text is duration_text else LARGE_LEAST_BYTES
        is_worse = _exceeds(now, before, SLOW_TIMES, least)
        if is_worse and before > 0:
            change = times_text(now / before)
        elif now != before:
            change = ("+" if now > before else "−") + text(abs(now - before))
        else:
            change = gettext("same")
    return Row(title, text(before), text(now), change, is_worse)


def _exceeds(value: float | None, usual: float | None, times: float, least: float) -> bool:
    if value is None or usual is None:
        return False
    return value >= times * usual and value - usual >= least


def _slow(fact: CheckpointFact, usual: list[CheckpointFact]) -> str:
    usual_value = _median(usual, "end_to_end_ms")
    duration_ms = fact.end_to_end_ms
    if not _exceeds(duration_ms, usual_value, SLOW_TIMES, SLOW_LEAST_MS):
        return ""
    return gettext(
        "It took %(lasted)s; the %(number)s completed ones before it usually took %(usual)s."
    ) % {
        "lasted": duration_text(duration_ms),
        "number": len(usual),
        "usual": duration_text(usual_value),
    }


def _large(fact: CheckpointFact, usual: list[CheckpointFact]) -> str:
    usual_value, size = _median(usual, "checkpointed_bytes"), fact.checkpointed_bytes
    if not _exceeds(size, usual_value, LARGE_TIMES, LARGE_LEAST_BYTES):
        return ""
    return gettext(
        "It uploaded %(size)s; the %(number)s completed ones before it usually uploaded %(usual)s."
    ) % {
        "size": bytes_text(size),
        "number": len(usual),
        "usual": bytes_text(usual_value),
    }


def _median(facts: list[CheckpointFact], field: str) -> float | None:
    values: list[Any] = [value for fact in facts if (value := getattr(fact, field)) is not None]
    return float(statistics.median(values)) if values else None


MOST_FINDINGS = 100
LOOK_AHEAD = timedelta(minutes=3)
"""Findings about a checkpoint are first seen at the end of the window in which it ended."""
_OUTCOME_SENTENCES = {
    "completed": _("It completed."),
    "aborted": _(
        "It was aborted because the job was cancelled, stopped or finished; that is no failure."
    ),
    "subsumed": _("A newer checkpoint completed first; that is no failure."),
    "preflight": _("It was refused before it began; that is no failure."),
    "in_progress": _("It is still running."),
}


@dataclass(frozen=True)
class Holder:
    """The vertex that holds back the barrier. ``path`` to it, from the farthest waiting vertex."""

    name: str
    path: tuple[str, ...]
    finding: PresentedFinding | None = None


@dataclass(frozen=True)
class Cause:
    """``headline``: one sentence. ``lacking``: the number of subtasks that never acknowledged;
    ``laggards``: their vertices and hosts. ``no_holder``: why no holder is known.
    """

    badge: Badge
    headline: str
    sentences: tuple[str, ...]
    is_lost: bool
    lacking: int | None
    laggards: str
    holder: Holder | None
    no_holder: str
    next_step: str
    findings: tuple[PresentedFinding, ...]

    @property
    def is_trouble(self) -> bool:
        return self.badge.tone in ("crit", "warn")


def cause_of(
    fact: CheckpointFact,
    comparison: CheckpointComparison,
    timeout_ms: int | None,
    judged_at: datetime | None,
) -> Cause:
    """Makes one query: the findings of the checkpoint's time."""
    end = drawable(fact.end_time or fact.trigger_time)
    findings = Finding.objects.of_job(*fact.key).filter(
        first_seen__lte=end + LOOK_AHEAD, last_seen__gte=fact.trigger_time
    )
    at_that_time = [present(finding) for finding in findings.order_by(*WORST_FIRST)[:MOST_FINDINGS]]
    related = tuple(
        finding
        for finding in at_that_time
        if finding.is_notable and _concerns(finding.finding, fact.checkpoint_id)
    )
    holder = _holder(
        related, [finding for finding in at_that_time if finding.finding.first_seen <= end]
    )
    explanation = related[0] if related else None
    steps = (
        explanation.finding.next_step if explanation else "",
        next_step(fact.reason, fact.dominant_phase),
    )
    headline, *sentences = _sentences(fact, comparison, explanation, timeout_ms)
    badge = _badge(fact, comparison, related)
    return Cause(
        badge=badge,
        headline=headline,
        sentences=tuple(sentences),
        is_lost=fact.outcome not in ("completed", *UNSETTLED_OUTCOMES),
        lacking=not_acknowledged(fact),
        laggards=_laggards(fact),
        holder=holder,
        no_holder="" if holder else _no_holder(judged_at, end),
        next_step=next(filter(None, steps), "") if badge.tone in ("crit", "warn") else "",
        findings=related,
    )


def _badge(
    fact: CheckpointFact, comparison: CheckpointComparison, related: tuple[PresentedFinding, ...]
) -> Badge:
    if fact.outcome != "completed":
        return outcome_badge(fact.outcome)
    if comparison.large or any(
        finding.finding.rule.startswith("checkpoint.full_after") for finding in related
    ):
        return Badge("completed, but large", "◆", "warn")
    if comparison.slow or related:
        return Badge("completed, but slow", "◆", "warn")
    return outcome_badge(fact.outcome)


def _sentences(
    fact: CheckpointFact,
    comparison: CheckpointComparison,
    explanation: PresentedFinding | None,
    timeout_ms: int | None,
) -> list[str]:
    meaning = reason_sentence(fact.reason, fact.reason_text)
    if fact.reason == "CHECKPOINT_EXPIRED" and timeout_ms:
        meaning = gettext(
            "It was not acknowledged by every subtask before the time-out of %(limit)s."
        ) % {"limit": duration_text(timeout_ms)}
    outcome = (
        [comparison.large, comparison.slow]
        if fact.outcome == "completed"
        else [meaning or str(_OUTCOME_SENTENCES.get(fact.outcome, ""))]
    )
    sentences = [
        explanation.finding.title if explanation and fact.outcome == "completed" else "",
        *outcome,
    ]
    if fact.reason in LOST_WITH_JOB and fact.reason_text:
        sentences.append(gettext("The failure: %(text)s") % {"text": fact.reason_text})
    if explanation:
        sentences.append(explanation.finding.cause)
    return list(filter(None, sentences)) or [
        str(_OUTCOME_SENTENCES.get(fact.outcome, _("The reason is not known.")))
    ]


def not_acknowledged(fact: CheckpointFact) -> int | None:
    """The number of subtasks that did not acknowledge; None if unknown."""
    counts: list[Any] = [
        row.get("count") for row in fact.not_acknowledged or () if isinstance(row, Mapping)
    ]
    if counts and None not in counts:
        return int(sum(counts))
    return (
        None
        if fact.subtasks is None or fact.acknowledged is None
        else fact.subtasks - fact.acknowledged
    )


def _laggards(fact: CheckpointFact) -> str:
    rows = [row for row in fact.not_acknowledged or () if isinstance(row, Mapping)]
    parts = []
    for row in sorted(rows, key=lambda row: -(row.get("count") or 0))[:3]:
        name = row.get("vertex_name") or row.get("vertex_id")
        if not name:
            continue
        hosts = [str(host) for host in row.get("hosts") or ()][:3]
        parts.append(
            f"{name} ({row.get('count') or '?'})" + (f" on {', '.join(hosts)}" if hosts else "")
        )
    if not parts:
        return ""
    lacking = not_acknowledged(fact)
    total = (
        ""
        if lacking is None or fact.subtasks is None
        else f"{lacking} of {fact.subtasks} subtasks: "
    )
    return total + "; ".join(parts) + ("; and more" if len(rows) > 3 else "")


def _data(finding: Finding) -> Mapping[str, Any]:
    return finding.data if isinstance(finding.data, Mapping) else {}


def _concerns(finding: Finding, checkpoint_id: int) -> bool:
    if not finding.rule.startswith("checkpoint."):
        return False
    data = _data(finding)
    checkpoints = data.get("checkpoints")
    if isinstance(checkpoints, list) and checkpoint_id in checkpoints:
        return True
    return (
        finding.subject_kind == "checkpoint" and finding.subject_id == str(checkpoint_id)
    ) or data.get("checkpoint_id") == checkpoint_id


def _holder(
    related: tuple[PresentedFinding, ...], at_that_time: list[PresentedFinding]
) -> Holder | None:
    origins = [finding for finding in at_that_time if finding.finding.rule in ORIGIN_RULES]
    for finding in related:
        held_by = _data(finding.finding).get("held_by")
        if isinstance(held_by, Mapping) and held_by.get("name"):
            name = str(held_by["name"])
            origin = next((other for other in origins if other.finding.subject == name), None)
            path = tuple(str(step) for step in held_by.get("path") or ()) or (
                origin.longest_way if origin else ()
            )
            return Holder(name, path, origin)
    if origins:
        return Holder(origins[0].finding.subject, origins[0].longest_way, origins[0])
    return None


def _no_holder(judged_at: datetime | None, end: datetime) -> str:
    if judged_at is None or judged_at < end:
        return gettext("Not judged for that time.")
    return gettext("No vertex was found to back-pressure others at that time.")
