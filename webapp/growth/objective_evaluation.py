"""Evaluates each minute how every job meets its objectives and how fast it burns its error budget.
A minute in which the state of a job is unknown is neither good nor bad. Evaluating a minute again
replaces its counts; late data changes earlier minutes.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import Q
from django.utils import timezone

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.objective_samples import (
    BURN_WINDOWS,
    ObjectiveBurn,
)
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.serving import FAILED_OUTCOMES
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import Finding
from webapp.findings.overrides import as_plain
from webapp.findings.settling import Identity, identified, settle
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS
from webapp.fleet.models import JobCurrent
from webapp.fleet.sorting import FLEET_SORTS
from webapp.growth.down_seconds import down_seconds
from webapp.growth.models import Objective, ObjectiveRecord
from webapp.growth.objectives import (
    BUDGET_MIN,
    HOURS_KEPT,
    MINUTES_KEPT,
    HourSums,
    full_hours,
    hour_sums,
    jobs_of,
    observed_min,
    replace_rows,
    window_counts,
)
from webapp.lib.chunks import chunks
from webapp.lib.instants import epoch_ms
from webapp.pressure.models import PressureWindow
from webapp.work.lease import WriteGuard
from webapp.work.runs import RunRecord

KEY = "objectives/evaluate"
RECOUNTED_MIN = 10
"""Checkpoints that ended in this many last minutes are counted again: some arrive late."""
DOWN_RECOUNTED_MIN = 60
"""The same for restarts, which are known when all tasks run again."""
FRESH = timedelta(minutes=4)
"""Windows with source lag that are older are ignored."""
ROWS_AT_ONCE = 500
MINUTE_COLUMNS = (
    "job_id",
    "job_name",
    "minutes",
    "burn",
    "burn_over_min",
    "budget_left",
    "value_ms",
    "is_good",
    "as_of",
)
"""Columns written each minute; ``hours`` and ``sums`` are written once an hour."""
JOB_COLUMNS = (
    "cluster",
    "job_id",
    "first_attempt_id",
    "name",
    "state",
    "terminal",
    "start_time",
    "last_completed_at",
    "checkpoint_interval_ms",
    "last_seen_at",
    "judged_at",
    "burn",
    "burn_over_min",
)
FAILED = "FAILED"
JobKey = tuple[str, str]


class WorstBurn(NamedTuple):
    """``burn``: the burn rate divided by the rate that alerts, over a window of ``over_min``."""

    burn: float
    over_min: int


@dataclass
class Sample:
    """New counts of one job. ``minutes`` ([epoch minute, good, bad]) replace the stored ones from
    the minute ``since`` on; ``is_good`` and ``value_ms`` are the newest.
    """

    since: int
    minutes: list[list[int]] = field(default_factory=list)
    is_good: bool | None = None
    value_ms: float | None = None


def is_wanted() -> bool:
    return Objective.objects.exists() or _open().exists() or _burning().exists()


def evaluate_all(lease: WriteGuard, record: RunRecord) -> None:
    record.counts |= evaluate(lease, timezone.now())


def evaluate(guard: WriteGuard, now: datetime) -> dict[str, int]:
    objectives, minute = list(Objective.objects.order_by("name")), int(now.timestamp() // 60)
    # A finally failed job is not available; a cancelled or finished one no longer counts.
    jobs = list(
        JobCurrent.objects.newest_attempts()
        .filter(Q(terminal=False) | Q(terminal__isnull=True) | Q(state=FAILED))
        .with_status(now)
        .only(*JOB_COLUMNS)
    )
    matching, settings = jobs_of(objectives, jobs), Settings(as_plain())
    first_ids = {job.key: key_of(job)[1] for job in jobs}
    findings: dict[Identity, dict[str, Any]] = {}
    worst: dict[JobKey, WorstBurn] = {}
    for objective in objectives:
        matching_jobs = matching[objective.pk]
        samples = SAMPLERS[objective.kind](objective, matching_jobs, now, minute)
        burns = _record(guard, objective, matching_jobs, samples, now, minute)
        for burn in burns:
            worst_burn = _worst(burn)
            if worst_burn:
                key = burn.cluster, burn.job_id
                worst[key] = max(worst.get(key, worst_burn), worst_burn)
            limits = settings.limits(burn.cluster, burn.job_id, burn.job_name)
            findings |= identified(
                registry.diagnose(burn, limits).findings,
                burn.cluster,
                burn.job_id,
                job_name=burn.job_name,
                first_attempt_id=first_ids[burn.cluster, burn.job_id],
            )
    # A finding belongs to a job with all its ids: compare by the newest id.
    newest_ids = {key_of(job): job.job_id for job in jobs}
    open_findings = {
        (
            finding.cluster,
            newest_ids.get((finding.cluster, finding.first_attempt_id), finding.job_id),
            finding.rule,
            finding.subject_id,
        ): finding
        for finding in _open()
    }
    closed = settle(findings, open_findings, guard, now)
    _show_in_fleet(guard, jobs, worst)
    return {"objectives": len(objectives), "findings": len(findings), "closed": closed}


def _open() -> Any:
    return Finding.objects.open().filter(rule__in=registry.rules_for(ObjectiveBurn))


def _burning() -> Any:
    return JobCurrent.objects.alias(shown=FLEET_SORTS["burn"].key).filter(shown__gte=0)


def _show_in_fleet(
    guard: WriteGuard, jobs: Collection[JobCurrent], worst: Mapping[JobKey, WorstBurn]
) -> None:
    """``worst``: (cluster, job id) → its worst burn rate. All other jobs lose their rate."""
    evaluated = {job.pk for job in jobs}
    burning = _burning().only("cluster", "job_id", "burn", "burn_over_min")
    changed = []
    for job in (*jobs, *(job for job in burning if job.pk not in evaluated)):
        before = job.burn, job.burn_over_min
        job.burn, job.burn_over_min = worst.get(job.key, (None, None))
        if (job.burn, job.burn_over_min) != before:
            changed.append(job)
    for chunk in chunks(changed, ROWS_AT_ONCE):
        with guard.writing():
            JobCurrent.objects.bulk_update(chunk, ["burn", "burn_over_min"])


def _record(
    guard: WriteGuard,
    objective: Objective,
    jobs: Iterable[JobCurrent],
    samples: Mapping[JobKey, Sample],
    now: datetime,
    minute: int,
) -> list[ObjectiveBurn]:
    hour = minute // 60
    records = list(objective.records.defer("hours"))
    rows = {(row.cluster, row.first_attempt_id): row for row in records}
    # The column hours is long: it is read once an hour, and if a past hour changed.
    to_sum = [
        row.pk
        for key, row in rows.items()
        if row.sums[:1] != [hour] or (key in samples and _is_late(row, samples[key], hour))
    ]
    hours_by_pk: dict[int, list[list[int]]] = {}
    for chunk in chunks(to_sum, ROWS_AT_ONCE):
        hours_by_pk |= dict(objective.records.filter(pk__in=chunk).values_list("pk", "hours"))
    burns, same_hour, new_hour, summed = [], [], [], set(to_sum)
    for job in jobs:
        key = key_of(job)
        row = rows.pop(key, None) or ObjectiveRecord(
            objective=objective, cluster=key[0], first_attempt_id=key[1]
        )
        sample = samples.get(key) or Sample(minute)
        row.job_id, row.job_name = job.job_id, job.name or job.job_id
        by_minute = {
            counts[0]: counts for counts in _since(row, sample.since) if counts[0] < minute
        }
        by_minute |= {counts[0]: counts for counts in sample.minutes}
        row.minutes = replace_rows(row.minutes, by_minute.values(), sample.since, MINUTES_KEPT)
        row.value_ms, row.is_good, row.as_of = sample.value_ms, sample.is_good, now
        if row.pk and row.pk not in summed:
            sums = HourSums.from_json(row.sums)
            row.hours = []  # deferred, and not written
            same_hour.append(row)
        else:
            stored, full = hours_by_pk.get(row.pk, []), full_hours(row.minutes, minute)
            row.hours = replace_rows(stored, full, full[0][0], HOURS_KEPT) if full else stored
            sums = hour_sums(row.hours, hour)
            row.sums = sums.to_json()
            new_hour.append(row)
        counts = window_counts(row.minutes, sums, minute)
        burn = ObjectiveBurn(
            row.cluster,
            row.job_id,
            row.job_name,
            objective.name,
            objective.kind,
            objective.target,
            epoch_ms(now),
            counts,
            counts[BUDGET_MIN],
            observed_min(row.minutes, sums, minute),
            objective.limit_ms,
            row.value_ms,
        )
        row.burn, row.burn_over_min = _worst(burn) or (None, None)
        row.budget_left = burn.budget.budget_left(objective.target)
        burns.append(burn)
    _write(guard, same_hour, MINUTE_COLUMNS)
    _write(guard, new_hour, (*MINUTE_COLUMNS, "hours", "sums"))
    # The jobs of the remaining records no longer match, or have ended.
    for chunk in chunks([row.pk for row in rows.values()], ROWS_AT_ONCE):
        with guard.writing():
            ObjectiveRecord.objects.filter(pk__in=chunk).delete()
    return burns


def _since(row: ObjectiveRecord, minute: int) -> list[list[int]]:
    minutes: list[list[int]] = row.minutes
    return minutes[bisect_left(minutes, minute, key=itemgetter(0)) :]


def _is_late(row: ObjectiveRecord, sample: Sample, hour: int) -> bool:
    """Whether the sample changes a minute before ``hour``."""
    stored = _since(row, sample.since)
    return any(minute[0] < hour * 60 and minute not in stored for minute in sample.minutes)


def _write(guard: WriteGuard, rows: Sequence[ObjectiveRecord], columns: Sequence[str]) -> None:
    for chunk in chunks(rows, ROWS_AT_ONCE):
        with guard.writing():
            ObjectiveRecord.objects.bulk_create(
                chunk,
                update_conflicts=True,
                unique_fields=["objective", "cluster", "first_attempt_id"],
                update_fields=columns,
            )


def _worst(burn: ObjectiveBurn) -> WorstBurn | None:
    return max(
        (
            WorstBurn(min(rates) / window.factor, window.long_min)
            for window in BURN_WINDOWS
            if (rates := burn.burn_rates(window)) is not None
        ),
        default=None,
    )


def key_of(job: JobCurrent) -> JobKey:
    return job.cluster, job.first_attempt_id or job.job_id


def _is_known(job: JobCurrent) -> bool:
    return job.status not in (UNKNOWN_STATUS, UNWATCHED_STATUS)


def _availability(
    objective: Objective, jobs: Collection[JobCurrent], now: datetime, minute: int
) -> dict[JobKey, Sample]:
    """Seconds of each minute: from starts and restarts if the job was down for a part of it, else
    from its present state.
    """
    since = minute - DOWN_RECOUNTED_MIN
    down = down_seconds(since)
    samples = {}
    for job in jobs:
        is_good = job.status == "RUNNING" if _is_known(job) else None
        rows = {} if is_good is None else {minute: [minute, 60 * is_good, 60 * (not is_good)]}
        for number, down_s in down.get(job.key, {}).items():
            if number <= minute:  # the clock of a JobManager may be ahead
                rows[number] = [number, 60 - down_s, down_s]
        samples[key_of(job)] = Sample(since, list(rows.values()), is_good)
    return samples


def _recovery_point(
    objective: Objective, jobs: Collection[JobCurrent], now: datetime, minute: int
) -> dict[JobKey, Sample]:
    ages_ms = {}
    for job in jobs:
        newest = job.last_completed_at or job.start_time
        if newest and job.checkpoint_interval_ms is not None and not job.terminal:
            ages_ms[job.pk] = (now - newest).total_seconds() * 1000
    return _within_limit(objective, jobs, ages_ms, minute)


def _freshness(
    objective: Objective, jobs: Collection[JobCurrent], now: datetime, minute: int
) -> dict[JobKey, Sample]:
    """The age by event time of the records emitted last; if a source has records to read but emits
    none, the time since its last record.
    """
    rows = (
        PressureWindow.objects.filter(window_start__gt=now - FRESH, emit_lag_ms__isnull=False)
        .order_by("window_start")
        .values_list(
            "cluster", "job_id", "vertex_id", "emit_lag_ms", "pending_records", "source_idle_ms"
        )
    )
    newest: dict[JobKey, dict[str, float]] = {}
    for cluster, job_id, vertex_id, lag_ms, pending, idle_ms in rows.iterator(5_000):
        blocked_ms = (idle_ms or 0.0) if pending else 0.0
        newest.setdefault((cluster, job_id), {})[vertex_id] = max(lag_ms or 0.0, blocked_ms)
    ages_ms = {job.pk: max(sources.values()) for job in jobs if (sources := newest.get(job.key))}
    return _within_limit(objective, jobs, ages_ms, minute)


def _within_limit(
    objective: Objective, jobs: Iterable[JobCurrent], ages_ms: Mapping[int, float], minute: int
) -> dict[JobKey, Sample]:
    """``ages_ms``: primary key → age."""
    samples = {}
    for job in jobs:
        age_ms = ages_ms.get(job.pk) if _is_known(job) else None
        is_good = None if age_ms is None else age_ms <= (objective.limit_ms or 0)
        minutes = [] if is_good is None else [[minute, int(is_good), int(not is_good)]]
        samples[key_of(job)] = Sample(minute, minutes, is_good, age_ms)
    return samples


def _checkpoints(
    objective: Objective, jobs: Collection[JobCurrent], now: datetime, minute: int
) -> dict[JobKey, Sample]:
    since = minute - RECOUNTED_MIN
    rows = (
        CheckpointFact.objects.filter(
            end_time__gte=now - timedelta(minutes=RECOUNTED_MIN + 1),
            outcome__in=("completed", *FAILED_OUTCOMES),
        )
        .order_by()
        .values_list("cluster", "job_id", "end_time", "outcome")
    )
    counts: dict[JobKey, dict[int, list[int]]] = {}
    for cluster, job_id, end_time, outcome in rows.iterator(5_000):
        number = int(end_time.timestamp() // 60) if end_time else 0
        if number >= since:
            of_job = counts.setdefault((cluster, job_id), {})
            of_job.setdefault(number, [number, 0, 0])[1 if outcome == "completed" else 2] += 1
    samples = {}
    for job in jobs:
        minutes = counts.get(job.key, {})
        newest = minutes[max(minutes)] if minutes else None
        is_good = newest[2] == 0 if newest else None
        samples[key_of(job)] = Sample(since, list(minutes.values()), is_good)
    return samples


Sampler = Callable[[Objective, Collection[JobCurrent], datetime, int], dict[JobKey, Sample]]
SAMPLERS: Mapping[str, Sampler] = {
    "checkpoints": _checkpoints,
    "recovery_point": _recovery_point,
    "freshness": _freshness,
    "availability": _availability,
}
