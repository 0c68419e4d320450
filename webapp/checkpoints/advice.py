"""Advice from a job's history on interval, pause and time-out. Bounded."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_jobs.diagnosis import fleet_policy
from spark_jobs.diagnosis.advice import InForce, SettingsAdvice, settings_advice
from spark_jobs.diagnosis.samples import CheckpointSample
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.overrides import limits_of
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import instant_of
from webapp.lib.quantities import UNKNOWN, duration_text
from webapp.lib.samples import samples_of
from webapp.lib.translations import gettext_lazy as _

HISTORY = timedelta(days=7)
MOST_CHECKPOINTS = 12_000
"""A week at one a minute, and savepoints."""
_COLUMNS = ("checkpoint_id", "trigger_time", "outcome", "is_savepoint", "end_to_end_ms")
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Setting:
    """One setting of the job: current value, advised value, and why."""

    name: str
    key: str
    now: str
    advised: str
    why: str


@dataclass(frozen=True)
class Advice:
    checkpoints: int
    since: datetime | None
    missing: tuple[str, ...]
    settings: tuple[Setting, ...]


def advice(job: JobCurrent, end: datetime) -> Advice:
    """Two queries."""
    history = _history(job, end)
    given = settings_advice(history, _in_force(job))
    return Advice(
        checkpoints=len(history),
        since=instant_of(min(sample.trigger_time_ms for sample in history)) if history else None,
        missing=given.missing,
        settings=_settings(job, given),
    )


def _history(job: JobCurrent, end: datetime) -> list[CheckpointSample]:
    own = CheckpointFact.objects.filter(
        cluster=job.cluster,
        job_id=job.job_id,
        trigger_time__gt=end - HISTORY,
        trigger_time__lte=end,
    )
    newest = own.order_by("-trigger_time", "-id")
    return list(samples_of(CheckpointSample, newest[:MOST_CHECKPOINTS], *_COLUMNS))


def _in_force(job: JobCurrent) -> InForce:
    policy = limits_of(job.cluster, job.job_id, job.name)
    return InForce(
        interval_ms=job.checkpoint_interval_ms,
        min_pause_ms=(job.checkpoint_config or {}).get("min_pause_ms"),
        timeout_ms=job.checkpoint_timeout_ms,
        fleet_minimum_ms=round(policy[fleet_policy.INTERVAL] * 1000),
        fleet_pause_ms=round(policy[fleet_policy.PAUSE] * 1000),
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
