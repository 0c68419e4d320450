"""The page of one checkpoint: its outcome and cause, its phases and its subtasks."""

import logging
from datetime import timedelta
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_noop

from ingest.metadata.files import NAME
from spark_jobs.serving import PHASES
from webapp.checkpoints.advice import advice
from webapp.checkpoints.cause import cause_of, compare, outcome_badge
from webapp.checkpoints.models import CheckpointFact
from webapp.checkpoints.subtask_hosts import read_hosts
from webapp.checkpoints.subtasks import SubtaskPart, read_parts
from webapp.config.row_retention import routine
from webapp.fleet.attempts import attempt_ids
from webapp.fleet.job_lookup import look_up
from webapp.fleet.models import LogEvent
from webapp.lib.instants import drawable, epoch_ms, instant_of
from webapp.lib.row_numbers import row_number
from webapp.lib.storage_uris import canonical_or_none


def address_of(path: str | None) -> str:
    """The canonical path of a checkpoint's ``_metadata``, "" if Flink reported none."""
    uri = canonical_or_none(path)
    return f"{uri}/{NAME}" if uri else ""


log = logging.getLogger(__name__)

SUBTASKS_A_PAGE = 50
EVENTS_SHOWN = 40
SUBTASK_KINDS = (
    "checkpoint_sync_started",
    "checkpoint_sync_done",
    "checkpoint_async_done",
    "backend_sync_done",
    "barriers_aligned",
    "checkpoint_acknowledged",
)
"""Kinds of log events that each subtask logs at DEBUG; they are left out."""
_EARLIEST_MS, _LATEST_MS = -62_135_510_400_000, 253_402_300_799_000


def by_id(request: HttpRequest, cluster: str, job_id: str, checkpoint_id: int) -> HttpResponse:
    """The newest checkpoint of this id: of this job id, else of another attempt of the job."""
    facts = CheckpointFact.objects.filter(cluster=cluster, checkpoint_id=checkpoint_id)
    newest = facts.only("job_id", "trigger_time").order_by("-trigger_time")
    fact = (
        newest.filter(job_id=job_id).first()
        or newest.filter(job_id__in=attempt_ids(cluster, job_id)).first()
    )
    if fact is None:
        raise Http404(
            f"No checkpoint {checkpoint_id} of this job is known; routine ones are kept "
            f"{routine().days} days."
        )
    return redirect("checkpoint", cluster, fact.job_id, checkpoint_id, epoch_ms(fact.trigger_time))


def go(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    """The target of the job page's field for a checkpoint id."""
    text = request.GET.get("id", "").strip().removeprefix("chk-")
    if not (number := row_number(text)):
        raise Http404(f"{text[:40]!r} is no id of a checkpoint; give its number.")
    return by_id(request, cluster, job_id, number)


def checkpoint(
    request: HttpRequest, cluster: str, job_id: str, checkpoint_id: int, trigger: int
) -> HttpResponse:
    view = look_up(request, cluster, job_id)
    fact = _fact(cluster, job_id, checkpoint_id, trigger)
    parts, is_unreadable = _read_parts(fact, view.job.given_names)
    page = Paginator(parts, SUBTASKS_A_PAGE).get_page(request.GET.get("page"))
    facts = CheckpointFact.objects.filter(cluster=cluster, job_id=job_id).only(
        "checkpoint_id", "trigger_time"
    )
    comparison = compare(fact)
    context: dict[str, Any] = {
        "cause": cause_of(fact, comparison, view.job.checkpoint_timeout_ms, view.job.judged_at),
        "comparison": comparison,
        "good": _link(comparison.good),
        "view": view,
        "job": view.job,
        "fact": fact,
        "badge": outcome_badge(fact.outcome),
        "xray_path": "" if fact.discarded else address_of(fact.external_path),
        "phases": _phases(fact),
        "page": page,
        "parts": _with_hosts(fact, list(page)),
        "unreadable": is_unreadable,
        "events": _log_events(fact)
        .exclude(kind__in=SUBTASK_KINDS)
        .order_by("ts", "id")[:EVENTS_SHOWN],
        "earlier": _link(
            facts.filter(trigger_time__lt=fact.trigger_time)
            .order_by("-trigger_time", "-id")
            .first()
        ),
        "later": _link(
            facts.filter(trigger_time__gt=fact.trigger_time).order_by("trigger_time", "id").first()
        ),
        "time_range": view.time_range,
    }
    return render(request, "checkpoints/checkpoint.html", context)


def advice_section(request: HttpRequest, cluster: str, job_id: str) -> HttpResponse:
    """A section that the job page loads when it comes into view."""
    view = look_up(request, cluster, job_id)
    end = view.end_of_life if view.is_past else view.now
    context = {"advice": advice(view.job, end), "job": view.job, "view": view}
    return render(request, "checkpoints/_advice.html", context)


def _fact(cluster: str, job_id: str, checkpoint_id: int, trigger: int) -> CheckpointFact:
    if not -(2**63) <= checkpoint_id < 2**63 or not _EARLIEST_MS <= trigger <= _LATEST_MS:
        raise Http404("No such checkpoint.")
    at = instant_of(trigger)
    half = timedelta(microseconds=500)
    fact = CheckpointFact.objects.filter(
        cluster=cluster,
        job_id=job_id,
        checkpoint_id=checkpoint_id,
        trigger_time__gte=at - half,
        trigger_time__lte=at + half,
    ).first()
    if fact is None:
        raise Http404(
            f"Checkpoint {checkpoint_id} of this job is not known; routine ones are kept "
            f"{routine().days} days."
        )
    return fact


def _read_parts(fact: CheckpointFact, names: dict[str, str]) -> tuple[list[SubtaskPart], bool]:
    try:
        return read_parts(
            fact.cluster,
            fact.job_id,
            fact.checkpoint_id,
            fact.trigger_time,
            names,
            ended=fact.final,
        ), False
    except Exception:  # The lake may raise any error.
        log.exception("Subtasks of checkpoint %s of %s could not be read", fact.checkpoint_id, fact)
        return [], True


def _with_hosts(
    fact: CheckpointFact, parts: list[SubtaskPart]
) -> list[tuple[SubtaskPart, str | None]]:
    try:
        hosts = read_hosts(fact.cluster, fact.job_id, fact.trigger_time) if parts else {}
    except Exception:  # Without hosts, the table still has its other columns.
        log.exception("Hosts of checkpoint %s of %s could not be read", fact.checkpoint_id, fact)
        hosts = {}
    slowest = fact.slowest_vertex_name, fact.slowest_subtask
    return [
        (
            part,
            hosts.get((part.vertex_id, part.subtask))
            or (fact.slowest_host if (part.vertex_name, part.subtask) == slowest else None),
        )
        for part in parts
    ]


def _log_events(fact: CheckpointFact) -> Any:
    start, end = drawable(fact.trigger_time), drawable(fact.end_time or fact.trigger_time)
    return LogEvent.objects.filter(
        **fact.identity,
        checkpoint_id=fact.checkpoint_id,
        ts__gte=start - timedelta(minutes=1),
        ts__lte=end + timedelta(minutes=30),
    )


def _phases(fact: CheckpointFact) -> list[dict[str, Any]]:
    phases = [(phase, getattr(fact, f"slowest_{phase}_ms")) for phase in PHASES]
    duration_ms = fact.slowest_end_to_end_ms or fact.end_to_end_ms
    if all(ms is None for _phase, ms in phases) or not duration_ms:
        return []
    # The asynchronous part of an unaligned checkpoint may contain its alignment.
    counted = [
        (phase, ms, 0 if fact.unaligned and phase == "alignment" else ms or 0)
        for phase, ms in phases
    ]
    known_ms = sum(counted_ms for _phase, _ms, counted_ms in counted)
    other = max(duration_ms - known_ms, 0)
    total = known_ms + other
    rows, left = [], 0.0
    for phase, ms, counted_ms in (*counted, (gettext_noop("other"), other, other)):
        width = 100 * counted_ms / total if total else 0.0
        rows.append(
            {
                "phase": phase,
                "ms": ms,
                "left": round(left, 3),
                "width": round(width, 3),
                "share": counted_ms / total if total else None,
            }
        )
        left += width
    return rows


def _link(fact: CheckpointFact | None) -> tuple[int, int] | None:
    return (fact.checkpoint_id, epoch_ms(fact.trigger_time)) if fact else None
