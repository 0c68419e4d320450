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

    name: str
    model: type[models.Model]
    derived: Mapping[str, Callable[[Row], object]] = field(default_factory=dict)
    later: tuple[str, ...] = ()
    after_load: Callable[[Sequence[Row]], None] | None = None

    @property
    def table(self) -> ServingTable:
        return SERVING_TABLES[self.name]


SERVED: dict[str, TableModel] = {
    row.name: row
    for row in (
        TableModel(
            "job_current",
            JobCurrent,
            derived={"trouble": trouble, "family": family},
            later=(
                "health",
                "health_state",
                "judged_at",
                "orphan_bytes",
                "burn",
                "burn_over_min",
                "worst_finding_points",
                "first_attempt_id",
                "is_newest_attempt",
            ),
            after_load=lambda rows: follow_links(link_loaded(rows)),
        ),
        TableModel("checkpoint_fact", CheckpointFact, after_load=fresh_starts.take_up),
        TableModel("checkpoint_rollup", CheckpointRollup),
        TableModel("pressure_window", PressureWindow),
        TableModel("size_trend", SizeTrend),
        TableModel("checkpoint_upload", CheckpointUpload),
        TableModel("log_event", LogEvent),
        TableModel("job_exception", JobException),
        TableModel("job_annotation", JobAnnotation),
        TableModel("job_start", JobStart),
        TableModel("job_host", JobHost, after_load=loads.record_loaded),
        TableModel("host_event", HostEvent, after_load=days.record_loaded),
        TableModel("taskmanager_life", TaskManagerLife),
        TableModel("skipped_input", SkippedInput),
        # In this order: see webapp.findings.loading.
        TableModel("job_judgement", JobJudgement),
        TableModel("finding_occurrence", FindingOccurrence),
    )
}
