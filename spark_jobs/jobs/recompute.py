"""The steps of a cycle: rows that are new in the lake → one pass over each job of which there are any → one result.

Volume stays with Spark: log lines become events. Then all rows of a job come together with
its state, and plain Python folds them. Where rows are needed that came longer ago, jobs say so; they are looked up, and
these jobs are folded again.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.lake.derived import CYCLE_TABLES, NO_JOBS, with_same_rows
from ingest.lake.tables import TABLES
from ingest.prometheus.names import HISTORY
from spark_jobs.fold.checkpoint_log import KINDS_OF_CHECKPOINT
from spark_jobs.fold.checkpoint_rows import OF_VERTEX
from spark_jobs.fold.rule_evaluation import Scoped, Settings
from spark_jobs.lake import PinnedLake
from spark_jobs.manifest import Manifest
from spark_jobs.nested_tables import CLUSTER, JOB
from spark_jobs.run_dir import Carried, RunDir
from spark_jobs.run_files import EXECUTIONS, JOB_STATE
from spark_jobs.schemas import spark_schema
from spark_jobs.spans import LINES_AFTER_TRIGGER, OTHER_SIDE_WITHIN, WINDOW, JobLookup, instant, lookup_spans, minute_spans, windows_between
from spark_jobs.step_schemas import EXECUTION, FOUND, LEARNT_EXECUTION, SERVED_EVENT, TASKMANAGER_LINE
from spark_jobs.steps import executions, locations, uploads
from spark_jobs.transforms import folding, group_windows, log_events, snapshots, taskmanagers
from spark_jobs.transforms.job_exceptions import job_exceptions
from spark_jobs.transforms.skipped_inputs import skipped_inputs
from spark_jobs.transforms.time_spans import floor_to, spans
from spark_jobs.worker_rows import Make, WorkerRows

_UNREAD = ("source",)
WINDOW_S = WINDOW // timedelta(seconds=1)


class Recompute:
    """One run over the rows that are new since ``previous``; ``steps`` writes everything but the manifest."""

    def __init__(
        self, lake: PinnedLake, previous: Manifest | None, run_dir: RunDir,
        thresholds: Sequence[Scoped] = (), recovery_points: Sequence[Scoped] = (),
    ) -> None:  # fmt: skip
        self.lake = lake
        self.run_dir = run_dir
        self.settings = Settings(thresholds, recovery_points)
        self.from_seq = {table: previous.to_seq.get(table, 0) if previous else 0 for table in CYCLE_TABLES}
        self.previous = previous
        self.carried = Carried(lake.session, previous)

    def steps(self) -> Iterator[tuple[str, int]]:
        """Write part after part; yields the name of each and how many rows it got."""
        yield "events", self.stage_events()
        if self._has_new("references"):
            yield "checkpoint_upload", self.run_dir.write_table("checkpoint_upload", self.new_uploads)
        yield "jobs", self.run_dir.write_jobs("jobs", self._folded(self.parts))
        if lookups := self._lookups():
            yield "jobs looked up", self.run_dir.write_jobs("jobs_looked_up", self._folded(self._with_found(lookups)))
        if self._names_executions:
            yield EXECUTIONS, self.run_dir.write_state(EXECUTIONS, self.executions.select(*EXECUTION.names))
        elif self.previous:
            self.run_dir.copy_snapshot(self.previous, EXECUTIONS)

    def _folded(self, parts: Mapping[str, DataFrame]) -> WorkerRows:
        return folding.folded(parts, self.settings, older_snapshots=any(self.from_seq[table] for table in with_same_rows("snapshots")))

    def stage_events(self) -> int:
        """Read what is new in the logs, once for all that follows."""
        if not self._has_new("log_records"):
            return 0
        return self.run_dir.stage("events", log_events.recognised(self._new("log_records")))

    # What is new.

    def _new(self, table: str) -> DataFrame:
        return self.lake.new_rows(table, self.from_seq)

    def _has_new(self, table: str) -> bool:
        return table in self._tables_with_news

    @cached_property
    def _tables_with_news(self) -> frozenset[str]:
        return frozenset(table for table in TABLES.keys() - NO_JOBS if self.lake.has_new_rows(table, self.from_seq))

    @cached_property
    def is_first(self) -> bool:
        """All rows of the lake are new: nothing has to be looked up again."""
        return not any(self.from_seq.values())

    @cached_property
    def parts(self) -> dict[str, DataFrame]:
        """What is new of each job and what is remembered of it, by part: see :class:`spark_jobs.fold.job_update.JobUpdate`."""
        parts = self._parts_of_life
        if self._names_executions:
            parts["executions"] = _mapped(self.executions, executions.newly_placed_batches, EXECUTION)
            lines = _mapped(self._staged_events, locations.loss_batches, locations.LOSS)
            parts["taskmanager_lines"] = _mapped(
                folding.in_order({"executions": self.executions, "lines": lines}, CLUSTER),
                locations.taskmanager_line_batches,
                TASKMANAGER_LINE,
            )
        if self._has_new("vertex_starts"):
            parts["vertex_starts"] = self._new("vertex_starts").drop(*_UNREAD)
        if self._has_new("vertex_gauges"):
            parts["vertex_gauges"] = self._new("vertex_gauges").drop(*_UNREAD)
        if self._has_new("exceptions"):
            parts["exceptions"] = job_exceptions(self._new("exceptions"))
        if self._has_new("skips"):
            parts["skips"] = skipped_inputs(self._new("skips"))
        if self._has_new("vertex_metrics"):
            parts[group_windows.PART] = self.samples
        if self._has_new("taskmanagers"):
            parts["taskmanagers"] = taskmanagers.of_jobs(self._new("taskmanagers"))
        if self._has_new("references"):
            parts["uploads"] = self.new_uploads
        if self._has_new("snapshots"):
            parts["snapshots"] = snapshots.of_jobs(self._asked_of_files, self._new("snapshots"))
        return parts

    @property
    def _parts_of_life(self) -> dict[str, DataFrame]:
        """What facts and restores follow from."""
        parts = {"state": self.carried_state}
        if self._has_new("jobs"):
            parts["answers"] = self._new("jobs").drop(*_UNREAD)
        if self._has_new("checkpoints"):
            parts["checkpoints"] = self._new("checkpoints").drop(*_UNREAD)
        if self._has_new("vertex_checkpoints"):
            parts["vertex_checkpoints"] = self._new("vertex_checkpoints").select(*JOB, *OF_VERTEX)
        if self._has_new("log_records"):
            parts["events"] = self.events
        return parts

    @cached_property
    def carried_state(self) -> DataFrame:
        return self.carried.jobs()

    # Log events, completed with where their task ran.

    @cached_property
    def events(self) -> DataFrame:
        return self._located(self._staged_events) if self._names_executions else self._staged_events

    def _located(self, events: DataFrame) -> DataFrame:
        known = self.executions if self._names_executions else self.carried_executions
        rows = folding.in_order({"executions": known, "events": events}, CLUSTER)
        return _mapped(rows, locations.located_batches, SERVED_EVENT)

    @cached_property
    def _staged_events(self) -> DataFrame:
        return self.run_dir.staged(self.lake.session, "events", spark_schema(SERVED_EVENT))

    @cached_property
    def _names_executions(self) -> bool:
        """Whether where tasks ran is told by any new line, or matters to it."""
        return self._has_new("log_records") and any(self.run_dir.staged_holds("events", name) for name in locations.NAMED_BY)

    @cached_property
    def executions(self) -> DataFrame:
        told = _mapped(self._staged_events.select(*executions.TOLD.names), executions.telling_batches, executions.TOLD)
        rows = folding.in_order({"carried": self.carried_executions, "told": told}, CLUSTER)
        return _held(_mapped(rows, executions.learnt_batches, LEARNT_EXECUTION))

    @cached_property
    def carried_executions(self) -> DataFrame:
        return self.carried.frame(EXECUTIONS, self.lake.session.createDataFrame([], spark_schema(EXECUTION)))

    # Metric samples.

    @cached_property
    def samples(self) -> DataFrame:
        """New ones, and all of the windows that they fall into; samples of history are alone in theirs."""
        after_seq = self.from_seq["vertex_metrics"]
        is_history, new = F.col("source").eqNullSafe(HISTORY), self._new("vertex_metrics")
        flags = (F.col("commit_seq") > after_seq).alias(group_windows.IS_NEW), is_history.alias(group_windows.IS_HISTORY)
        columns: list[Column | str] = [*group_windows.SAMPLE, *flags]
        if self.is_first:
            rows = new.select(*columns)
        else:
            rows = self._of_touched_windows().where(~is_history).select(*columns).unionByName(new.where(is_history).select(*columns))
        return rows.where("ts is not null")

    def _of_touched_windows(self) -> DataFrame:
        reported = windows_between(self.lake.times_of_new("vertex_metrics", self.from_seq), WINDOW)
        if reported is not None:
            return self.lake.rows_in("vertex_metrics", reported)
        # Far apart: of these times only what the jobs with news need is sent around.
        window, start = [*JOB, "vertex_id", "window_start"], floor_to("ts", WINDOW_S).alias("window_start")
        new = self._new("vertex_metrics").where(~F.col("source").eqNullSafe(HISTORY))
        touched = new.select(*JOB, "vertex_id", start).distinct()
        rows = self.lake.rows_in("vertex_metrics", spans(new, "ts", WINDOW_S)).withColumn("window_start", start)
        return rows.join(touched, on=window, how="left_semi")

    # What parsed _metadata tell.

    @cached_property
    def _asked_of_files(self) -> DataFrame:
        """What every job would know of them."""
        return _held(folding.folded(self._parts_of_life, self.settings, compares=True).frame().select(*JOB, "comparisons", "wanted_keys"))

    @cached_property
    def new_uploads(self) -> DataFrame:
        """Of checkpoints one side of whose comparison was read since the last run."""
        new = self._new("references")
        read = _mapped(new.select(*uploads.REFERENCE.names), uploads.whole_batches, uploads.WHOLE)
        if not self.is_first:
            first, last = F.unix_seconds(F.min("observed_at")), F.unix_seconds(F.max("observed_at"))
            seen = new.agg(first.alias("first"), last.alias("last")).collect()[0]
            new = self.lake.rows_in("references", [(instant(seen["first"]) - OTHER_SIDE_WITHIN, instant(seen["last"] + 1))])
        files = _mapped(new.select(*uploads.REFERENCE.names), uploads.file_batches, uploads.REFERENCE)
        rows = folding.in_order({"asked": self._asked_of_files, "read": read, "references": files}, CLUSTER)
        return _held(_mapped(rows, uploads.upload_batches, uploads.UPLOAD))

    # What came longer ago.

    def _lookups(self) -> list[JobLookup]:
        """Of the jobs that were not folded for lack of rows."""
        return [
            JobLookup(row["cluster"], row["job_id"], **row["lookup"])
            for batch in self.run_dir.read(self.run_dir.state[JOB_STATE], [*JOB, "lookup"])
            for row in batch.filter(pc.is_valid(batch["lookup"])).to_pylist()
        ]

    def _with_found(self, lookups: Sequence[JobLookup]) -> Mapping[str, DataFrame]:
        """The parts of these jobs, and rows of theirs that were triggered in the spans they asked for."""
        ranges = self.lake.session.createDataFrame([one[:4] for one in lookups], spark_schema(FOUND))
        triggers, lines = lookup_spans(lookups)
        records = self.lake.rows_in("log_records", lines).where(F.col("message").contains("heckpoint"))
        reported = log_events.recognised(records).frame().where(F.col("kind").isin(*KINDS_OF_CHECKPOINT))
        found = {
            "found_checkpoints": _within_spans(self.lake.rows_in("checkpoints", triggers).drop(*_UNREAD), ranges, "trigger_time"),
            "found_vertex_checkpoints": _within_spans(
                self.lake.rows_in("vertex_checkpoints", triggers).select(*JOB, *OF_VERTEX), ranges, "trigger_time"
            ),
            "found_lines": _within_spans(self._located(reported), ranges, "ts", LINES_AFTER_TRIGGER),
        }
        if any(one.keys for one in lookups):
            keys = [(one.cluster, one.job_id, list(one.keys)) for one in lookups]
            wanted = self.lake.session.createDataFrame(keys, "cluster string, job_id string, wanted_keys array<string>")
            found["found_snapshots"] = snapshots.of_jobs(wanted, self.lake.new_rows("snapshots", {}))
        of_jobs = {name: rows.join(F.broadcast(ranges.select(*JOB)), on=list(JOB), how="left_semi") for name, rows in self.parts.items()}
        if any(one.minutes for one in lookups):
            of_jobs[group_windows.PART] = self._samples_looked_up(lookups, of_jobs.get(group_windows.PART))
        return {**of_jobs, **found, "found": ranges}

    def _samples_looked_up(self, lookups: Sequence[JobLookup], new: DataFrame | None) -> DataFrame:
        """All samples of the minutes that jobs asked for, and what is new of other minutes."""
        asked = [(one.cluster, one.job_id, minute // 1000) for one in lookups for minute in one.minutes]
        minutes = F.broadcast(self.lake.session.createDataFrame(asked, "cluster string, job_id string, start long"))
        start = F.unix_seconds(floor_to("ts", WINDOW_S))
        rows = self.lake.rows_in("vertex_metrics", minute_spans(lookups)).where(~F.col("source").eqNullSafe(HISTORY))
        flags = F.lit(True).alias(group_windows.IS_NEW), F.lit(False).alias(group_windows.IS_HISTORY)
        columns: list[Column | str] = [*group_windows.SAMPLE, *flags]
        of_minutes = [*JOB, "start"]
        found = rows.withColumn("start", start).join(minutes, on=of_minutes, how="left_semi").select(*columns)
        if new is None:
            return found
        others = new.withColumn("start", start).join(minutes, on=of_minutes, how="left_anti").drop("start")
        return others.select(*found.columns).unionByName(found)


def _within_spans(rows: DataFrame, ranges: DataFrame, time_column: str, after: timedelta = timedelta()) -> DataFrame:
    at_ms = F.unix_millis(time_column)
    joined = rows.join(F.broadcast(ranges), on=list(JOB), how="inner")
    return joined.where((at_ms >= F.col("from_ms")) & (at_ms <= F.col("to_ms") + after // timedelta(milliseconds=1))).drop(
        "from_ms", "to_ms"
    )


def _mapped(rows: DataFrame, make: Make, schema: pa.Schema) -> DataFrame:
    return WorkerRows(rows, make, schema).frame()


def _held(frame: DataFrame) -> DataFrame:
    return frame.localCheckpoint()
