"""One checkpoint beside those before it: what changed since the last good one, and whether it is
slow or large for its job.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext

from spark_jobs.serving import FAILED_OUTCOMES, PHASES
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobAnnotation
from webapp.lib.quantities import bytes_text, count_text, duration_text, times_text

BEFORE = 20
SLOW_TIMES, SLOW_LEAST_MS = 2.0, 1_000
"""Twice the usual, and by a second at least: below that nobody notices."""
LARGE_TIMES, LARGE_LEAST_BYTES = 3.0, 1_000_000
"""Uploads of incremental checkpoints vary by themselves; three times the usual, and a megabyte at
least.
"""
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
_MOST_HAPPENINGS = 12
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
    """One measure then and now; ``change`` is empty where either is unknown, ``is_worse`` where it
    at least doubled.
    """

    title: str
    before: str
    now: str
    change: str
    is_worse: bool


@dataclass(frozen=True)
class CheckpointComparison:
    """``good`` is the last completed checkpoint before; ``None`` where none is known.

    ``slow`` and ``large`` are sentences or empty.
    """

    good: CheckpointFact | None
    rows: tuple[Row, ...]
    failed_between: int
    savepoints_between: int
    happenings: tuple[JobAnnotation, ...]
    slow: str
    large: str


def compared(fact: CheckpointFact) -> CheckpointComparison:
    """Three queries, whatever the age of the job."""
    own = CheckpointFact.objects.filter(
        cluster=fact.cluster, job_id=fact.job_id, trigger_time__lt=fact.trigger_time
    )
    periodic = Q(is_savepoint=False) | Q(is_savepoint__isnull=True)
    usual = list(
        own.filter(periodic, outcome="completed")
        .order_by("-trigger_time", "-id")
        .only(*_COLUMNS)[:BEFORE]
    )
    if not usual:
        return CheckpointComparison(None, (), 0, 0, (), "", "")
    good = usual[0]
    between = own.filter(trigger_time__gt=good.trigger_time).aggregate(
        failed=Count("id", filter=periodic & Q(outcome__in=FAILED_OUTCOMES)),
        savepoints=Count("id", filter=Q(is_savepoint=True)),
    )
    happened = JobAnnotation.objects.filter(
        cluster=fact.cluster,
        job_id=fact.job_id,
        kind__in=_NOTEWORTHY,
        at__gt=good.trigger_time,
        at__lte=fact.end_time or fact.trigger_time,
    )
    judged = fact.outcome == "completed" and not fact.is_savepoint
    return CheckpointComparison(
        good,
        tuple(_rows(good, fact)),
        between["failed"],
        between["savepoints"],
        tuple(happened.order_by("at", "id")[:_MOST_HAPPENINGS]),
        _slow(fact, usual) if judged else "",
        _large(fact, usual) if judged else "",
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
        is_worse = now >= SLOW_TIMES * before and now - before >= (
            SLOW_LEAST_MS if text is duration_text else LARGE_LEAST_BYTES
        )
        if is_worse and before > 0:
            change = times_text(now / before)
        elif now != before:
            change = ("+" if now > before else "−") + text(abs(now - before))
        else:
            change = gettext("same")
    return Row(title, text(before), text(now), change, is_worse)


def _slow(fact: CheckpointFact, usual: list[CheckpointFact]) -> str:
    typical = _median(usual, "end_to_end_ms")
    lasted = fact.end_to_end_ms
    if (
        typical is None
        or lasted is None
        or lasted < SLOW_TIMES * typical
        or lasted - typical < SLOW_LEAST_MS
    ):
        return ""
    sentence = gettext(
        "It took %(lasted)s; the %(number)s completed ones before it usually took %(usual)s."
    )
    return sentence % {
        "lasted": duration_text(lasted),
        "number": len(usual),
        "usual": duration_text(typical),
    }


def _large(fact: CheckpointFact, usual: list[CheckpointFact]) -> str:
    typical, now = _median(usual, "checkpointed_bytes"), fact.checkpointed_bytes
    if (
        typical is None
        or now is None
        or now < LARGE_TIMES * typical
        or now - typical < LARGE_LEAST_BYTES
    ):
        return ""
    sentence = gettext(
        "It uploaded %(size)s; the %(number)s completed ones before it usually uploaded %(usual)s."
    )
    return sentence % {"size": bytes_text(now), "number": len(usual), "usual": bytes_text(typical)}


def _median(facts: list[CheckpointFact], field: str) -> float | None:
    known: list[Any] = [value for fact in facts if (value := getattr(fact, field)) is not None]
    return float(statistics.median(known)) if known else None
