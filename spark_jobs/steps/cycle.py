"""The steps of a cycle: new rows of the lake → one pass over each job that has any → one result. A
small cycle (``small/cycle.py``) calls them in its own process; with Spark (``jobs/recompute.py``)
Python workers call them on all rows of a job, or of a cluster.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.derived import CYCLE_TABLES, NO_JOBS, with_same_rows
from ingest.lake.tables import TABLES
from spark_jobs.fold.checkpoint_rows import OF_VERTEX
from spark_jobs.fold.rule_evaluation import Scoped, Settings
from spark_jobs.manifest import Manifest, Output
from spark_jobs.nested_tables import CLUSTER, JOB
from spark_jobs.run_files import EXECUTIONS, JOB_STATE, LIVES, RunFiles
from spark_jobs.serving import CHECKPOINT_UPLOAD, TASKMANAGER_LIFE
from spark_jobs.spans import COMPARED_WITHIN, JobLookup, lookup_spans, minute_spans
from spark_jobs.step_schemas import (
    METADATA_NEEDS,
    EXECUTION,
    LOOKED_UP,
    UPDATED_EXECUTION,
    UPDATED_LIFE,
    LIFE,
    SERVED_EVENT,
    SNAPSHOT,
    STATE,
    TASKMANAGER,
    TASKMANAGER_LOSS,
)
from spark_jobs.steps import executions, lives, locations, reported, uploads
from spark_jobs.transforms import group_windows
from spark_jobs.transforms.event_batches import RECORD_COLUMNS, served_event_batches
from spark_jobs.transforms.fold_batches import FOLDED, asked_batches, folded_batches

Rows = Any
"""An Arrow table, or a frame of Spark."""
Parts = dict[str, Rows]
Make = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

RECORD = (*RECORD_COLUMNS, "message")
_MAPPED_TABLES: Mapping[str, tuple[Make, pa.Schema]] = {
    "exceptions": (reported.exception_batches, reported.EXCEPTION),
    "skips": (reported.skip_batches, reported.SKIP),
    "taskmanagers": (reported.taskmanager_batches, TASKMANAGER),
}


class Made(NamedTuple):
    rows: Rows
    output: Output


class Cycle(ABC):
    """``steps`` writes everything except the manifest."""

    def __init__(
        self, lake: Any, previous: Manifest | None, run_dir: RunFiles,
        thresholds: Sequence[Scoped] = (), recovery_points: Sequence[Scoped] = (),
    ) -> None:  # fmt: skip
        self.lake = lake
        self.previous = previous
        self.run_dir = run_dir
        self.settings = Settings(thresholds, recovery_points)
        self.from_seq = {
            table: previous.to_seq.get(table, 0) if previous else 0 for table in CYCLE_TABLES
        }

    def steps(self) -> Iterator[tuple[str, int]]:
        """Yields the name and number of rows of each part."""
        if self._has_new("log_records"):
            yield "events", self._read_events.output.rows
        if self._has_new("references"):
            yield (
                CHECKPOINT_UPLOAD.name,
                self.run_dir.take_table(CHECKPOINT_UPLOAD.name, self._uploads.output),
            )
        if self._has_news_of_lives:
            served = self._made(
                f"tables/{TASKMANAGER_LIFE.name}",
                self._lives.rows,
                lives.served_batches,
                lives.SERVED,
            )
            self.run_dir.take_state(LIVES, self._lives.output)
            yield (
                TASKMANAGER_LIFE.name,
                self.run_dir.take_table(TASKMANAGER_LIFE.name, served.output),
            )
        else:
            self._carry_over(LIVES, LIFE)
        jobs = self._folded("jobs", self.parts)
        yield "jobs", self.run_dir.take_jobs(jobs)
        if lookups := self._lookups(jobs):
            output = self._folded("jobs_looked_up", self._with_found(lookups))
            yield "jobs looked up", self.run_dir.take_jobs(output)
        if self._has_executions:
            yield EXECUTIONS, self.run_dir.take_state(EXECUTIONS, self._executions.output)
        else:
            self._carry_over(EXECUTIONS, EXECUTION)

    def _folded(self, folder: str, parts: Parts) -> Output:
        older_snapshots = any(self.from_seq[table] for table in with_same_rows("snapshots"))
        fold = partial(folded_batches, settings=self.settings, older_snapshots=older_snapshots)
        return self._made(folder, self._in_order(parts, JOB), fold, FOLDED).output

    # New rows.

    def _new(self, table: str) -> Rows:
        return self.lake.new_rows(table, self.from_seq)

    def _has_new(self, table: str) -> bool:
        return table in self._tables_with_news

    @cached_property
    def _tables_with_news(self) -> frozenset[str]:
        return frozenset(
            table
            for table in TABLES.keys() - NO_JOBS
            if self.lake.has_new_rows(table, self.from_seq)
        )

    @property
    def _is_first(self) -> bool:
        return not any(self.from_seq.values())

    @cached_property
    def parts(self) -> Parts:
        parts = dict(self._parts_of_life)
        if self._has_executions:
            parts["executions"] = self._mapped(
                self._executions.rows, executions.newly_placed_batches, EXECUTION
            )
        if self._has_news_of_lives:
            parts["taskmanager_losses"] = self._mapped(
                self._lives.rows, lives.loss_batches, TASKMANAGER_LOSS
            )
        for table in ("vertex_starts", "vertex_gauges"):
            if self._has_new(table):
                parts[table] = self._new(table).select(_folded_columns(table))
        for table, (make, schema) in _MAPPED_TABLES.items():
            if self._has_new(table):
                parts[table] = self._mapped(self._new(table), make, schema)
        if self._has_new("vertex_metrics"):
            parts[group_windows.PART] = self._samples
        if self._has_new("references"):
            parts["uploads"] = self._uploads.rows
        if self._has_new("snapshots"):
            asked = self._collected(self._file_questions.select([*JOB, "wanted_keys"]))
            parts["snapshots"] = self._wanted(
                self._new("snapshots"),
                [(row["cluster"], row["job_id"], row["wanted_keys"]) for row in asked],
            )
        return parts

    @cached_property
    def _parts_of_life(self) -> Parts:
        parts = {"state": self._carried(JOB_STATE, STATE, known="state")}
        for name, table in (("answers", "jobs"), ("checkpoints", "checkpoints")):
            if self._has_new(table):
                parts[name] = self._new(table).select(_folded_columns(table))
        if self._has_new("vertex_checkpoints"):
            parts["vertex_checkpoints"] = self._new("vertex_checkpoints").select([*JOB, *OF_VERTEX])
        if self._has_new("log_records"):
            parts["events"] = self._events
        return parts

    # Log events, with the TaskManager and host of their task.

    @cached_property
    def _read_events(self) -> Made:
        return self._made(
            "staged/events",
            self._new("log_records").select(list(RECORD)),
            served_event_batches,
            SERVED_EVENT,
        )

    @cached_property
    def _events(self) -> Rows:
        events = self._read_events.rows
        if not self._has_executions:
            return events
        return self._made(
            "staged/located",
            self._beside_executions(events),
            locations.located_batches,
            SERVED_EVENT,
        ).rows

    def _beside_executions(self, events: Rows) -> Rows:
        known = self._executions.rows if self._has_executions else self._carried_executions
        return self._in_order({"executions": known, "events": events}, CLUSTER)

    @cached_property
    def _has_executions(self) -> bool:
        return self._has_new("log_records") and self._holds(
            self._read_events.rows, locations.NAMED_BY
        )

    @cached_property
    def _executions(self) -> Made:
        reported = self._mapped(
            self._read_events.rows.select(executions.REPORTED.names),
            executions.report_batches,
            executions.REPORTED,
        )
        rows = self._in_order({"carried": self._carried_executions, "reported": reported}, CLUSTER)
        return self._made("state/executions", rows, executions.learnt_batches, UPDATED_EXECUTION)

    @cached_property
    def _carried_executions(self) -> Rows:
        return self._carried(EXECUTIONS, EXECUTION)

    # Lives of TaskManagers.

    @property
    def _has_news_of_lives(self) -> bool:
        return any(map(self._has_new, ("taskmanagers", "log_records", "exceptions")))

    @cached_property
    def _lives(self) -> Made:
        parts = {"known": self._carried(LIVES, LIFE)}
        if self._has_new("taskmanagers"):
            parts["samples"] = self._new("taskmanagers").select(lives.SAMPLE.names)
        if self._has_new("exceptions"):
            parts["exceptions"] = self._new("exceptions").select(lives.TRACE.names)
        if self._has_executions:
            # Ends name TaskManagers by id, as placements of attempts do.
            parts["executions"] = self._executions.rows.select(EXECUTION.names)
            parts["lines"] = self._mapped(
                self._read_events.rows.select(lives.LINE.names), lives.line_batches, lives.LINE
            )
        return self._made(
            f"state/{LIVES}", self._in_order(parts, CLUSTER), lives.life_batches, UPDATED_LIFE
        )

    # Metric samples.

    @cached_property
    def _samples(self) -> Rows:
        rows = self._new("vertex_metrics")
        if not self._is_first:
            rows = self._touched_windows(rows)
        return self._flagged(rows, self.from_seq["vertex_metrics"])

    # Parsed _metadata.

    @cached_property
    def _file_questions(self) -> Rows:
        ask = partial(asked_batches, settings=self.settings)
        return self._made(
            "staged/asked", self._in_order(self._parts_of_life, JOB), ask, METADATA_NEEDS
        ).rows

    @cached_property
    def _uploads(self) -> Made:
        new = files = self._new("references").select(uploads.REFERENCE.names)
        if not self._is_first:
            first, last = self._bounds(new, "observed_at")
            files = self.lake.rows_in(
                "references", [(first - COMPARED_WITHIN, last + timedelta(seconds=1))]
            )
        parts = {
            "asked": self._file_questions,
            "read": self._mapped(new, uploads.whole_batches, uploads.WHOLE),
            "references": self._mapped(
                files.select(uploads.REFERENCE.names), uploads.file_batches, uploads.REFERENCE
            ),
        }
        return self._made(
            f"tables/{CHECKPOINT_UPLOAD.name}",
            self._in_order(parts, CLUSTER),
            uploads.upload_batches,
            uploads.UPLOAD,
        )

    def _wanted(self, snapshots: Rows, wanted: reported.Wanted) -> Rows:
        return self._mapped(
            snapshots,
            partial(reported.snapshot_batches, wanted=[pair for pair in wanted if pair[-1]]),
            SNAPSHOT,
        )

    # Earlier rows.

    def _lookups(self, jobs: Output) -> list[JobLookup]:
        return [
            JobLookup(row["cluster"], row["job_id"], **row["lookup"])
            for batch in self.run_dir.read(jobs.files, [*JOB, "lookup"])
            for row in batch.filter(pc.is_valid(batch["lookup"])).to_pylist()
        ]

    def _with_found(self, lookups: Sequence[JobLookup]) -> Parts:
        triggers, lines = lookup_spans(lookups)
        records = self.lake.rows_in("log_records", lines).select(list(RECORD))
        events = self._mapped(records, reported.checkpoint_event_batches, SERVED_EVENT)
        looked_up = {
            "found_checkpoints": self.lake.rows_in("checkpoints", triggers).select(
                _folded_columns("checkpoints")
            ),
            "found_vertex_checkpoints": self.lake.rows_in("vertex_checkpoints", triggers).select(
                [*JOB, *OF_VERTEX]
            ),
            "found_lines": self._mapped(
                self._beside_executions(events), locations.located_batches, SERVED_EVENT
            ),
        }
        if minutes := minute_spans(lookups):
            samples = self.lake.rows_in("vertex_metrics", minutes)
            looked_up[group_windows.FOUND_PART] = self._flagged(samples, 0)
        if any(lookup.keys for lookup in lookups):
            wanted = [(lookup.cluster, lookup.job_id, lookup.keys) for lookup in lookups]
            looked_up["found_snapshots"] = self._wanted(self.lake.new_rows("snapshots", {}), wanted)
        asking = self._rows([lookup._asdict() for lookup in lookups], LOOKED_UP)
        return {
            name: self._select_jobs(rows, asking) for name, rows in (self.parts | looked_up).items()
        } | {"found": asking}

    # Grouping of rows.

    @abstractmethod
    def _mapped(self, rows: Rows, make: Make, schema: pa.Schema) -> Rows: ...
    @abstractmethod
    def _in_order(self, parts: Parts, by: Sequence[str]) -> Rows:
        """Grouped by key, each part in a struct column of its name; within a cluster part by part."""

    @abstractmethod
    def _made(self, folder: str, rows: Rows, make: Make, schema: pa.Schema) -> Made:
        """Written below the folder; ``staged/`` is for later steps of this run."""

    @abstractmethod
    def _rows(self, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> Rows: ...
    @abstractmethod
    def _collected(self, rows: Rows) -> list[dict[str, Any]]: ...
    @abstractmethod
    def _holds(self, rows: Rows, columns: Sequence[str]) -> bool:
        """Whether any row has a value in any of the columns."""

    @abstractmethod
    def _bounds(self, rows: Rows, column: str) -> tuple[datetime, datetime]:
        """Rounded down to seconds."""

    @abstractmethod
    def _select_jobs(self, rows: Rows, jobs: Rows) -> Rows: ...
    @abstractmethod
    def _touched_windows(self, new: Rows) -> Rows:
        """Samples in the windows of new samples; perhaps of others too."""

    @abstractmethod
    def _flagged(self, samples: Rows, after_seq: int) -> Rows:
        """Samples with an instant, and their flags."""

    @abstractmethod
    def _carried(self, name: str, schema: pa.Schema, known: str | None = None) -> Rows:
        """Without rows whose ``known`` is null."""

    def _carry_over(self, name: str, schema: pa.Schema) -> None:
        if self.previous:
            self.run_dir.copy_snapshot(self.previous, name)


def _folded_columns(table: str) -> list[str]:
    return [name for name in TABLES[table].schema.names if name not in ("source", "date")]
