"""Why one checkpoint failed, was slow or was large: what is known of it and what the rules found,
as one story.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext

from spark_jobs.diagnosis.checkpoint_reasons import LOST_WITH_JOB
from spark_jobs.serving import UNSETTLED_OUTCOMES
from webapp.checkpoints.badges import outcome_badge
from webapp.checkpoints.comparison import CheckpointComparison
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.reasons import in_words, next_step
from webapp.findings.job_findings import ORIGIN_RULES
from webapp.findings.models import WORST_FIRST, Finding
from webapp.findings.presentation import PresentedFinding, shown
from webapp.lib.badges import Badge
from webapp.lib.instants import drawable
from webapp.lib.quantities import duration_text
from webapp.lib.translations import gettext_lazy as _

MOST_FINDINGS = 100
LOOK_AHEAD = timedelta(minutes=3)
"""The window in which a checkpoint ended is judged at its end, which is later."""
_OF_OUTCOME = {
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
    """Who held the barrier back; ``way`` from the farthest vertex that waited to the origin,
    ``finding`` where one says so.
    """

    name: str
    way: tuple[str, ...]
    finding: PresentedFinding | None = None


@dataclass(frozen=True)
class Cause:
    """``headline`` is one sentence. ``lacking``: how many subtasks never acknowledged a lost
    checkpoint, ``who``: which.

    ``unheld`` says why no holder is named. ``findings`` are about this very checkpoint.
    """

    badge: Badge
    headline: str
    sentences: tuple[str, ...]
    is_lost: bool
    lacking: int | None
    who: str
    holder: Holder | None
    unheld: str
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
    """One query: the findings of the checkpoint's time."""
    end = drawable(fact.end_time or fact.trigger_time)
    findings = Finding.objects.of_job(fact.cluster, fact.job_id).filter(
        first_seen__lte=end + LOOK_AHEAD, last_seen__gte=fact.trigger_time
    )
    at_that_time = [shown(finding) for finding in findings.order_by(*WORST_FIRST)[:MOST_FINDINGS]]
    about = tuple(
        finding
        for finding in at_that_time
        if finding.is_notable and _is_about(finding.finding, fact.checkpoint_id)
    )
    holder = _holder(
        about, [finding for finding in at_that_time if finding.finding.first_seen <= end]
    )
    explanation = next((finding for finding in about), None)
    steps = (
        explanation.finding.next_step if explanation else "",
        next_step(fact.reason, fact.dominant_phase),
    )
    headline, *rest = _sentences(fact, comparison, explanation, timeout_ms)
    badge = _badge(fact, comparison, about)
    return Cause(
        badge=badge,
        headline=headline,
        sentences=tuple(rest),
        is_lost=fact.outcome not in ("completed", *UNSETTLED_OUTCOMES),
        lacking=not_acknowledged(fact),
        who=_who(fact),
        holder=holder,
        unheld="" if holder else _unheld(judged_at, end),
        next_step=next(filter(None, steps), "") if badge.tone in ("crit", "warn") else "",
        findings=about,
    )


def _badge(
    fact: CheckpointFact, comparison: CheckpointComparison, about: tuple[PresentedFinding, ...]
) -> Badge:
    if fact.outcome != "completed":
        return outcome_badge(fact.outcome)
    if comparison.large or any(
        finding.finding.rule.startswith("checkpoint.full_after") for finding in about
    ):
        return Badge("completed, but large", "◆", "warn")
    return (
        Badge("completed, but slow", "◆", "warn")
        if comparison.slow or about
        else outcome_badge(fact.outcome)
    )


def _sentences(
    fact: CheckpointFact,
    comparison: CheckpointComparison,
    explanation: PresentedFinding | None,
    timeout_ms: int | None,
) -> list[str]:
    means = in_words(fact.reason, fact.reason_text)
    if fact.reason == "CHECKPOINT_EXPIRED" and timeout_ms:
        means = gettext(
            "It was not acknowledged by every subtask before the time-out of %(limit)s."
        ) % {"limit": duration_text(timeout_ms)}
    own = (
        [comparison.large, comparison.slow]
        if fact.outcome == "completed"
        else [means or str(_OF_OUTCOME.get(fact.outcome, ""))]
    )
    known = [explanation.finding.title if explanation and fact.outcome == "completed" else "", *own]
    known += (
        [gettext("The failure: %(text)s") % {"text": fact.reason_text}]
        if fact.reason in LOST_WITH_JOB and fact.reason_text
        else []
    )
    known += [explanation.finding.cause] if explanation else []
    sentences = [sentence for sentence in known if sentence]
    return sentences or [str(_OF_OUTCOME.get(fact.outcome, _("The reason is not known.")))]


def not_acknowledged(fact: CheckpointFact) -> int | None:
    """How many subtasks; ``None`` where that is not known."""
    known: list[Any] = [
        row.get("count") for row in fact.not_acknowledged or () if isinstance(row, Mapping)
    ]
    if known and None not in known:
        return int(sum(known))
    return (
        None
        if fact.subtasks is None or fact.acknowledged is None
        else fact.subtasks - fact.acknowledged
    )


def _who(fact: CheckpointFact) -> str:
    known = [row for row in fact.not_acknowledged or () if isinstance(row, Mapping)]
    parts = []
    for row in sorted(known, key=lambda row: -(row.get("count") or 0))[:3]:
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
    return total + "; ".join(parts) + ("; and more" if len(known) > 3 else "")


def _is_about(finding: Finding, checkpoint_id: int) -> bool:
    if not finding.rule.startswith("checkpoint."):
        return False
    data: Mapping[str, Any] = finding.data if isinstance(finding.data, Mapping) else {}
    named = data.get("checkpoints")
    if isinstance(named, list) and checkpoint_id in named:
        return True
    return (
        finding.subject_kind == "checkpoint" and finding.subject_id == str(checkpoint_id)
    ) or data.get("checkpoint_id") == checkpoint_id


def _holder(
    about: tuple[PresentedFinding, ...], at_that_time: list[PresentedFinding]
) -> Holder | None:
    origins = [finding for finding in at_that_time if finding.finding.rule in ORIGIN_RULES]
    for finding in about:
        held_by = (
            finding.finding.data.get("held_by")
            if isinstance(finding.finding.data, Mapping)
            else None
        )
        if isinstance(held_by, Mapping) and held_by.get("name"):
            name = str(held_by["name"])
            origin = next((other for other in origins if other.finding.subject == name), None)
            way = tuple(str(step) for step in held_by.get("path") or ()) or (
                origin.longest_way if origin else ()
            )
            return Holder(name, way, origin)
    if origins:
        return Holder(origins[0].finding.subject, origins[0].longest_way, origins[0])
    return None


def _unheld(judged_at: datetime | None, end: datetime) -> str:
    if judged_at is None or judged_at < end:
        return gettext("Not judged for that time.")
    return gettext("No vertex was found to back-pressure others at that time.")
