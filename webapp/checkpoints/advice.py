"""What a job's own history advises: interval, pause and time-out, and what regional checkpoints
would have saved. Bounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from spark_jobs.diagnosis import fleet_policy
from spark_jobs.diagnosis.advice import SettingsAdvice, regional_what_if, settings_advice
from spark_jobs.diagnosis.interval_advice import InForce
from spark_jobs.diagnosis.regional_advice import RegionalWhatIf
from spark_jobs.diagnosis.regional_model import PROPOSED_LIMITS
from spark_jobs.diagnosis.samples import CheckpointSample, Edge, Vertex
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.overrides import limits_of
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import instant_of
from webapp.lib.quantities import UNKNOWN, duration_text
from webapp.lib.samples import samples_of
from webapp.lib.translations import gettext_lazy as _

HISTORY = timedelta(days=7)
MOST_CHECKPOINTS = 12_000
"""A week at one a minute."""
MOST_SUBTASKS = 20_000
"""Regions of more are not worked out while somebody waits for a page."""
LONGEST_TARGET_S = 86_400
_COLUMNS = ("checkpoint_id", "trigger_time", "outcome", "is_savepoint", "end_to_end_ms")
_WHO = ("declines", "not_acknowledged")
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Limits:
    """What a regional checkpoint may leave out, and how often in a row; how much a failure may at
    most have to replay, where asked.
    """

    max_failed_share: float = PROPOSED_LIMITS[0]
    max_consecutive_reuse: int = PROPOSED_LIMITS[1]
    recovery_target_s: int | None = None

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "Limits":
        """What is no number, or out of bounds, is as if unsaid."""
        share, reuse, target = (parameters.get(name, "") for name in ("share", "reuse", "target"))
        percent = int(share) if share.isascii() and share.isdigit() and len(share) <= 3 else -1
        times = int(reuse) if reuse.isascii() and reuse.isdigit() and len(reuse) <= 3 else -1
        seconds = int(target) if target.isascii() and target.isdigit() and len(target) <= 5 else 0
        return cls(
            percent / 100 if 0 <= percent <= 100 else PROPOSED_LIMITS[0],
            times if 0 <= times <= 100 else PROPOSED_LIMITS[1],
            seconds if 0 < seconds <= LONGEST_TARGET_S else None,
        )


@dataclass(frozen=True)
class Setting:
    """One setting of the job: as it is, as advised, and why."""

    name: str
    key: str
    now: str
    advised: str
    why: str


@dataclass(frozen=True)
class Advice:
    """``regional`` is ``None`` where the plan is not known."""

    checkpoints: int
    since: datetime | None
    missing: tuple[str, ...]
    settings: tuple[Setting, ...]
    regional: RegionalWhatIf | None
    limits: Limits


def advice(job: JobCurrent, end: datetime, limits: Limits) -> Advice:
    """Three queries."""
    history = _history(job, end)
    given = settings_advice(history, _in_force(job, limits))
    graph = job.graph or {}
    vertices = [
        Vertex(v["vertex_id"], v.get("name") or "", v.get("parallelism"))
        for v in graph.get("vertices") or ()
        if v.get("vertex_id")
    ]
    edges = [
        Edge(str(e.get("source")), str(e.get("target")), e.get("ship_strategy"))
        for e in graph.get("edges") or ()
    ]
    fits = vertices and sum(vertex.parallelism or 0 for vertex in vertices) <= MOST_SUBTASKS

    return Advice(
        checkpoints=len(history),
        since=instant_of(min(sample.trigger_time_ms for sample in history)) if history else None,
        missing=given.missing,
        settings=_settings(job, given),
        regional=regional_what_if(
            history,
            vertices,
            edges,
            max_failed_share=limits.max_failed_share,
            max_consecutive_reuse=limits.max_consecutive_reuse,
        )
        if fits
        else None,
        limits=limits,
    )


def _history(job: JobCurrent, end: datetime) -> list[CheckpointSample]:
    """The newest of the last week; who failed a checkpoint is read of the failed ones only."""
    own = CheckpointFact.objects.filter(
        cluster=job.cluster,
        job_id=job.job_id,
        trigger_time__gt=end - HISTORY,
        trigger_time__lte=end,
    )
    newest = own.order_by("-trigger_time", "-id")
    given = newest.filter(Q(outcome="declined") | Q(outcome="expired"))
    failed = samples_of(CheckpointSample, given[:MOST_CHECKPOINTS], *_COLUMNS, *_WHO)
    who = {(sample.checkpoint_id, sample.trigger_time_ms): sample for sample in failed}
    read = samples_of(CheckpointSample, newest[:MOST_CHECKPOINTS], *_COLUMNS)
    return [who.get((sample.checkpoint_id, sample.trigger_time_ms), sample) for sample in read]


def _in_force(job: JobCurrent, limits: Limits) -> InForce:
    policy = limits_of(job.cluster, job.job_id, job.name)
    return InForce(
        interval_ms=job.checkpoint_interval_ms,
        min_pause_ms=(job.checkpoint_config or {}).get("min_pause_ms"),
        timeout_ms=job.checkpoint_timeout_ms,
        fleet_minimum_ms=round(policy[fleet_policy.INTERVAL] * 1000),
        fleet_pause_ms=round(policy[fleet_policy.PAUSE] * 1000),
        recovery_target_ms=None
        if limits.recovery_target_s is None
        else limits.recovery_target_s * 1000,
    )


def _settings(job: JobCurrent, given: SettingsAdvice) -> tuple[Setting, ...]:
    pause = (job.checkpoint_config or {}).get("min_pause_ms")
    rows = (
        (
            _("Interval"),
            "execution.checkpointing.interval",
            job.checkpoint_interval_ms,
            given.interval,
        ),
        (_("Minimum pause"), "execution.checkpointing.min-pause", pause, given.min_pause),
        (
            _("Time-out of checkpoints and savepoints"),
            "execution.checkpointing.timeout",
            job.checkpoint_timeout_ms,
            given.timeout,
        ),
    )
    return tuple(
        Setting(name, key, _words(now), _words(then.value_ms), then.why)
        for name, key, now, then in rows
        if then
    )


def _words(duration_ms: float | None) -> str:
    return (
        UNKNOWN
        if duration_ms is None
        else str(_("none"))
        if duration_ms == 0
        else duration_text(duration_ms)
    )
