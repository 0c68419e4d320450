from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import models

from spark_jobs.serving import SERVING_TABLES, ServingTable
from webapp.checkpoints import fresh_starts
from webapp.checkpoints.models import CheckpointFact, CheckpointRollup, CheckpointUpload, SizeTrend
from webapp.findings.job_attempts import follow_links
from webapp.findings.models import FindingOccurrence, JobJudgement
from webapp.fleet.attempts import link_loaded
from webapp.fleet.families import family
from webapp.fleet.models import JobAnnotation, JobCurrent, JobException, JobStart, LogEvent
from webapp.fleet.trouble_score import trouble
from webapp.hosts import days, loads
from webapp.hosts.models import HostEvent, JobHost, TaskManagerLife
from webapp.pressure.models import PressureWindow
from webapp.work.models import SkippedInput
from webapp.work.upserts import Row


@dataclass(frozen=True)
class TableModel:
    """The Django model of a serving table. Columns that only the model has: ``derived`` ones are
    computed from a row, ``later`` ones are filled in after loading. ``after_load`` gets the rows of
    each batch at the end of the transaction that loads them.
    """

    table: ServingTable
    model: type[models.Model]
    derived: Mapping[str, Callable[[Row], object]] = field(default_factory=dict)
    later: tuple[str, ...] = ()
    after_load: Callable[[Sequence[Row]], None] | None = None


MODELS: dict[str, type[models.Model]] = {
    "job_current": JobCurrent,
    "checkpoint_fact": CheckpointFact,
    "checkpoint_rollup": CheckpointRollup,
    "pressure_window": PressureWindow,
    "size_trend": SizeTrend,
    "checkpoint_upload": CheckpointUpload,
    "log_event": LogEvent,
    "job_exception": JobException,
    "job_annotation": JobAnnotation,
    "job_start": JobStart,
    "job_host": JobHost,
    "host_event": HostEvent,
    "taskmanager_life": TaskManagerLife,
    "skipped_input": SkippedInput,
    # In this order: see webapp.findings.loading.
    "job_judgement": JobJudgement,
    "finding_occurrence": FindingOccurrence,
}
DERIVED: dict[str, dict[str, Callable[[Row], object]]] = {
    "job_current": {"trouble": trouble, "family": family}
}
LATER = {
    "job_current": (
        "health",
        "health_state",
        "judged_at",
        "orphan_bytes",
        "burn",
        "burn_over_min",
        "worst_finding_points",
        "first_attempt_id",
        "is_newest_attempt",
    )
}
AFTER_LOAD: dict[str, Callable[[Sequence[Row]], None]] = {
    "job_current": lambda rows: follow_links(link_loaded(rows)),
    "checkpoint_fact": fresh_starts.take_up,
    "job_host": loads.record_loaded,
    "host_event": days.record_loaded,
}

SERVED: dict[str, TableModel] = {
    name: TableModel(
        SERVING_TABLES[name],
        model,
        DERIVED.get(name, {}),
        LATER.get(name, ()),
        AFTER_LOAD.get(name),
    )
    for name, model in MODELS.items()
}
