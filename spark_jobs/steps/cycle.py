"""A cycle's steps: new rows of the lake → events, executions, lives, uploads → one fold of each job
with new rows. A small cycle (``small/cycle.py``) runs them here on all rows; Spark's workers
(``jobs/recompute.py``) on all rows of a job or cluster.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.derived import CYCLE_TABLES, NO_JOBS, with_same_rows
from ingest.lake.tables import TABLES
from spark_jobs.arrow_schemas import Make
from spark_jobs.fold.checkpoint_rows import OF_VERTEX
from spark_jobs.fold.rule_evaluation import Settings
from spark_jobs.manifest import Manifest, Output
from spark_jobs.nested_tables import CLUSTER, JOB
from spark_jobs.run_files import EXECUTIONS, JOB_STATE, LIVES, RunFiles
from spark_jobs.serving import CHECKPOINT_UPLOAD, TASKMANAGER_LIFE
from spark_jobs.spans import COMPARED_WITHIN, JobLookup, lookup_spans, minute_spans
from spark_jobs.step_schemas import (
    EXECUTION,
    LIFE,
    LOOKED_UP,
    METADATA_NEEDS,
    SERVED_EVENT,
    SNAPSHOT,
    STATE,
    TASKMANAGER,
    TASKMANAGER_LOSS,
    UPDATED_EXECUTION,
    UPDATED_LIFE,
)
from spark_jobs.steps import executions, lives, locations, reported, uploads
from spark_jobs.transforms import group_windows
from spark_jobs.transforms.event_batches import RECORD_COLUMNS, served_event_batches
from spark_jobs.transforms.fold_batches import FOLDED, folded_batches, metadata_need_batches

Frame = Any
"""An Arrow table, or a frame of Spark."""
Parts = dict[str, Frame]

RECORD = (*RECORD_COLUMNS, "message")
_CHECKPOINTS = ("checkpoints", "vertex_checkpoints")
_MAPPED_TABLES: Mapping[str, tuple[Make, pa.Schema]] = {
    "exceptions": (reported.exception_batches, reported.EXCEPTION),
    "skips": (reported.skip_batches, reported.SKIP),
    "taskmanagers": (reported.taskmanager_batches, TASKMANAGER),
}


class StoredRows(NamedTuple):
    rows: Frame
    output: Output


@dataclass
class Cycle(ABC):
    """``steps`` writes everything except the manifest."""

    lake: Any
    previous: Manifest | None
    run_dir: RunFiles
    settings: Settings = field(default_factory=Settings)

    @cached_property
    def from_seq(self) -> dict[str, int]:
        ended_at = self.previous.to_seq if self.previous else {}
        return {table: ended_at.get(table, 0) for table in CYCLE_TABLES}

    def steps(self) -> Iterator[tuple[str, int]]:
        """Yields the name and the number of rows of each result."""
        if self._has_new_rows("log_records"):
            yield "events", self._parsed_events.output.rows
        if self._has_new_rows("references"):
            name = CHECKPOINT_UPLOAD.name
            yield name, self.run_dir.take_table(name, self._uploads.output)
        if self._may_change_lives:
            name = TASKMANAGER_LIFE.name
            served = self._write(
                f"tables/{name}", self._lives.rows, lives.served_batches, lives.SERVED
            )
            self.run_dir.take_state(LIVES, self._lives.output)
            yield name, self.run_dir.take_table(name, served.output)
        else:
            self._copy_state(LIVES, LIFE)
        jobs = self._fold("jobs", self.parts)
        yield "jobs", self.run_dir.take_jobs(jobs)
        if lookups := self._lookups(jobs):
            # These jobs need earlier rows from the lake, so they are folded again.
            output = self._fold("jobs_looked_up", self._with_looked_up_rows(lookups))
            yield "jobs looked up", self.run_dir.take_jobs(output)
        if self._has_executions:
            yield EXECUTIONS, self.run_dir.take_state(EXECUTIONS, self._executions.output)
        else:
            self._copy_state(EXECUTIONS, EXECUTION)

    def _fold(self, folder: str, parts: Parts) -> Output:
        fold = partial(
            folded_batches,
            settings=self.settings,
            has_older_snapshots=any(self.from_seq[name] for name in with_same_rows("snapshots")),
        )
        return self._write(folder, self._group(parts, JOB), fold, FOLDED).output

    # New rows.

    def _new_rows(self, table: str) -> Frame:
        return self.lake.new_rows(table, self.from_seq)

    def _has_new_rows(self, table: str) -> bool:
        return table in self._tables_with_new_rows

    @cached_property
    def _tables_with_new_rows(self) -> frozenset[str]:
        return frozenset(
            table
            for table in TABLES.keys() - NO_JOBS
            if self.lake.has_new_rows(table, self.from_seq)
        )

    @property
    def _is_first_run(self) -> bool:
        return not any(self.from_seq.values())

    @cached_property
    def parts(self) -> Parts:
        """Rows of the fold, by field of ``spark_jobs.fold.job_update.JobUpdate``."""
        parts = dict(self._checkpoint_parts)
        if self._has_executions:
            parts["executions"] = self._map(
                self._executions.rows, executions.newly_placed_batches, EXECUTION
            )
        if self._may_change_lives:
            parts["taskmanager_losses"] = self._map(
                self._lives.rows, lives.loss_batches, TASKMANAGER_LOSS
            )
        for table in ("vertex_starts", "vertex_gauges"):
            if self._has_new_rows(table):
                parts[table] = self._new_rows(table).select(_folded_columns(table))
        for table, (make, schema) in _MAPPED_TABLES.items():
            if self._has_new_rows(table):
                parts[table] = self._map(self._new_rows(table), make, schema)
        if self._has_new_rows("vertex_metrics"):
            parts[group_windows.PART] = self._samples
        if self._has_new_rows("references"):
            parts["uploads"] = self._uploads.rows
        if self._has_new_rows("snapshots"):
            needs = self._collect(self._metadata_needs.select([*JOB, "wanted_keys"]))
            parts["snapshots"] = self._snapshots_for(
                self._new_rows("snapshots"),
                [(row["cluster"], row["job_id"], row["wanted_keys"]) for row in needs],
            )
        return parts

    @cached_property
    def _checkpoint_parts(self) -> Parts:
        parts = {"state": self._read_state(JOB_STATE, STATE, required="state")}
        for table in ("jobs", *_CHECKPOINTS):
            if self._has_new_rows(table):
                name = "answers" if table == "jobs" else table
                parts[name] = self._new_rows(table).select(_folded_columns(table))
        if self._has_new_rows("log_records"):
            parts["events"] = self._located_events
        return parts

    # Log events, with the TaskManager and host of their task.

    @cached_property
    def _parsed_events(self) -> StoredRows:
        return self._write(
            "staged/events",
            self._new_rows("log_records").select(list(RECORD)),
            served_event_batches,
            SERVED_EVENT,
        )

    @cached_property
    def _located_events(self) -> Frame:
        events = self._parsed_events.rows
        if not self._has_executions:
            return events
        return self._write(
            "staged/located",
            self._group_with_executions(events),
            locations.located_batches,
            SERVED_EVENT,
        ).rows

    def _group_with_executions(self, events: Frame) -> Frame:
        rows = self._executions.rows if self._has_executions else self._previous_executions
        return self._group({"executions": rows, "events": events}, CLUSTER)

    @cached_property
    def _has_executions(self) -> bool:
        return self._has_new_rows("log_records") and self._has_values(
            self._parsed_events.rows, locations.NAMED_BY
        )

    @cached_property
    def _executions(self) -> StoredRows:
        reported = self._map(
            self._parsed_events.rows.select(executions.REPORTED.names),
            executions.report_batches,
            executions.REPORTED,
        )
        rows = self._group({"previous": self._previous_executions, "reported": reported}, CLUSTER)
        return self._write("state/executions", rows, executions.updated_batches, UPDATED_EXECUTION)

    @cached_property
    def _previous_executions(self) -> Frame:
        return self._read_state(EXECUTIONS, EXECUTION)

    # Lives of TaskManagers.

    @property
    def _may_change_lives(self) -> bool:
        return any(map(self._has_new_rows, ("taskmanagers", "log_records", "exceptions")))

    @cached_property
    def _lives(self) -> StoredRows:
        parts = {"previous": self._read_state(LIVES, LIFE)}
        if self._has_new_rows("taskmanagers"):
            parts["samples"] = self._new_rows("taskmanagers").select(lives.SAMPLE.names)
        if self._has_new_rows("exceptions"):
            parts["exceptions"] = self._new_rows("exceptions").select(lives.TRACE.names)
        if self._has_executions:
            # The ids of TaskManagers in lines about their ends are those in executions.
            parts["executions"] = self._executions.rows.select(EXECUTION.names)
            parts["lines"] = self._map(
                self._parsed_events.rows.select(lives.LINE.names), lives.line_batches, lives.LINE
            )
        return self._write(
            f"state/{LIVES}", self._group(parts, CLUSTER), lives.life_batches, UPDATED_LIFE
        )

    # Metric samples.

    @cached_property
    def _samples(self) -> Frame:
        rows = self._new_rows("vertex_metrics")
        if not self._is_first_run:
            rows = self._samples_of_touched_windows(rows)
        return self._mark_new(rows, self.from_seq["vertex_metrics"])

    # Parsed _metadata.

    @cached_property
    def _metadata_needs(self) -> Frame:
        find_needs = partial(metadata_need_batches, settings=self.settings)
        rows = self._group(self._checkpoint_parts, JOB)
        return self._write("staged/metadata_needs", rows, find_needs, METADATA_NEEDS).rows

    @cached_property
    def _uploads(self) -> StoredRows:
        new = files = self._new_rows("references").select(uploads.REFERENCE.names)
        if not self._is_first_run:
            first, last = self._bounds(new, "observed_at")
            files = self.lake.rows_in(
                "references", [(first - COMPARED_WITHIN, last + timedelta(seconds=1))]
            )
        parts = {
            "needs": self._metadata_needs,
            "new_files": self._map(new, uploads.whole_batches, uploads.WHOLE),
            "references": self._map(
                files.select(uploads.REFERENCE.names), uploads.file_batches, uploads.REFERENCE
            ),
        }
        return self._write(
            f"tables/{CHECKPOINT_UPLOAD.name}",
            self._group(parts, CLUSTER),
            uploads.upload_batches,
            uploads.UPLOAD,
        )

    def _snapshots_for(self, snapshots: Frame, wanted: reported.Wanted) -> Frame:
        return self._map(
            snapshots,
            partial(reported.snapshot_batches, wanted=[entry for entry in wanted if entry[-1]]),
            SNAPSHOT,
        )

    # Earlier rows that the fold of a job needs.

    def _lookups(self, jobs: Output) -> list[JobLookup]:
        return [
            JobLookup(row["cluster"], row["job_id"], **row["lookup"])
            for batch in self.run_dir.read(jobs.files, [*JOB, "lookup"])
            for row in batch.filter(pc.is_valid(batch["lookup"])).to_pylist()
        ]

    def _with_looked_up_rows(self, lookups: Sequence[JobLookup]) -> Parts:
        triggers, lines = lookup_spans(lookups)
        records = self.lake.rows_in("log_records", lines).select(list(RECORD))
        events = self._map(records, reported.checkpoint_event_batches, SERVED_EVENT)
        looked_up = {
            f"earlier_{table}": self.lake.rows_in(table, triggers).select(_folded_columns(table))
            for table in _CHECKPOINTS
        }
        looked_up["earlier_lines"] = self._map(
            self._group_with_executions(events), locations.located_batches, SERVED_EVENT
        )
        if minutes := minute_spans(lookups):
            samples = self.lake.rows_in("vertex_metrics", minutes)
            looked_up[group_windows.EARLIER_PART] = self._mark_new(samples, 0)
        if any(lookup.keys for lookup in lookups):
            wanted = [(lookup.cluster, lookup.job_id, lookup.keys) for lookup in lookups]
            snapshots = self.lake.new_rows("snapshots", {})
            looked_up["earlier_snapshots"] = self._snapshots_for(snapshots, wanted)
        jobs = self._from_rows([lookup._asdict() for lookup in lookups], LOOKED_UP)
        rows_by_part = self.parts | looked_up
        selected = {name: self._select_jobs(rows, jobs) for name, rows in rows_by_part.items()}
        return selected | {"looked_up": jobs}

    # Operations on rows, in this process or on Spark.

    @abstractmethod
    def _map(self, rows: Frame, make: Make, schema: pa.Schema) -> Frame: ...
    @abstractmethod
    def _group(self, parts: Parts, by: Sequence[str]) -> Frame:
        """All rows by key and, for clusters, in order of parts. A row's columns are in a struct of
        its part's name.
        """

    @abstractmethod
    def _write(self, folder: str, rows: Frame, make: Make, schema: pa.Schema) -> StoredRows:
        """Writes mapped rows below ``folder``; ``staged/`` is only for this run."""

    @abstractmethod
    def _from_rows(self, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> Frame: ...
    @abstractmethod
    def _collect(self, rows: Frame) -> list[dict[str, Any]]: ...
    @abstractmethod
    def _has_values(self, rows: Frame, columns: Sequence[str]) -> bool:
        """Whether any row has a value in any of the columns."""

    @abstractmethod
    def _bounds(self, rows: Frame, column: str) -> tuple[datetime, datetime]:
        """Smallest and largest value; on Spark rounded down to seconds."""

    @abstractmethod
    def _select_jobs(self, rows: Frame, jobs: Frame) -> Frame: ...
    @abstractmethod
    def _samples_of_touched_windows(self, new: Frame) -> Frame:
        """All samples in windows of new samples, and perhaps of other windows."""

    @abstractmethod
    def _mark_new(self, samples: Frame, after_seq: int) -> Frame:
        """Samples with an instant, and whether they are new."""

    @abstractmethod
    def _read_state(self, name: str, schema: pa.Schema, required: str | None = None) -> Frame:
        """Rows of a state whose column ``required`` is not null."""

    def _copy_state(self, name: str, schema: pa.Schema) -> None:
        if self.previous:
            self.run_dir.copy_snapshot(self.previous, name)


def _folded_columns(table: str) -> list[str]:
    if table == "vertex_checkpoints":
        return [*JOB, *OF_VERTEX]
    return [name for name in TABLES[table].schema.names if name not in ("source", "date")]
