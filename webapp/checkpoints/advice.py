"""Advice on a job's interval, pause and time-out of checkpoints, from its history."""

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
"""More than a week of one checkpoint a minute."""
_COLUMNS = ("checkpoint_id", "trigger_time", "outcome", "is_savepoint", "end_to_end_ms")
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Setting:
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
    history = _history(job, end)
    advised = settings_advice(history, _current_settings(job))
    return Advice(
        checkpoints=len(history),
        since=instant_of(min(sample.trigger_time_ms for sample in history)) if history else None,
        missing=advised.missing,
        settings=_settings(job, advised),
    )


def _history(job: JobCurrent, end: datetime) -> list[CheckpointSample]:
    facts = CheckpointFact.objects.filter(
        **job.identity,
        trigger_time__gt=end - HISTORY,
        trigger_time__lte=end,
    )
    newest = facts.order_by("-trigger_time", "-id")
    return list(samples_of(CheckpointSample, newest[:MOST_CHECKPOINTS], *_COLUMNS))


def _current_settings(job: JobCurrent) -> InForce:
    policy = limits_of(job.cluster, job.job_id, job.name)
    return InForce(
        interval_ms=job.checkpoint_interval_ms,
        min_pause_ms=(job.checkpoint_config or {}).get("min_pause_ms"),
        timeout_ms=job.checkpoint_timeout_ms,
        fleet_minimum_ms=round(policy[fleet_policy.INTERVAL] * 1000),
        fleet_pause_ms=round(policy[fleet_policy.PAUSE] * 1000),
    )


def _settings(job: JobCurrent, advised: SettingsAdvice) -> tuple[Setting, ...]:
    pause = (job.checkpoint_config or {}).get("min_pause_ms")
    rows = (
        (
            _("Interval"),
            "execution.checkpointing.interval",
            job.checkpoint_interval_ms,
            advised.interval,
        ),
        (_("Minimum pause"), "execution.checkpointing.min-pause", pause, advised.min_pause),
        (
            _("Time-out of checkpoints and savepoints"),
            "execution.checkpointing.timeout",
            job.checkpoint_timeout_ms,
            advised.timeout,
        ),
    )
    return tuple(
        Setting(
            name,
            key,
            _duration_words(current),
            _duration_words(value.value_ms),
            value.why,
        )
        for name, key, current, value in rows
        if value
    )


def _duration_words(duration_ms: float | None) -> str:
    if duration_ms is None:
        return UNKNOWN
    return duration_text(duration_ms) if duration_ms else str(_("none"))
