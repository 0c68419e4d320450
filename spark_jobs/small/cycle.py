"""The steps of :mod:`spark_jobs.jobs.recompute`, over rows that fit one process."""

from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import timedelta
from functools import cached_property

import fsspec
import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.derived import CYCLE_TABLES, with_same_rows
from ingest.lake.reader import LakeReader
from ingest.parquet_stream import ParquetStream
from ingest.prometheus.names import HISTORY
from spark_jobs.fold.checkpoint_log import KINDS_OF_CHECKPOINT
from spark_jobs.fold.checkpoint_rows import OF_VERTEX
from spark_jobs.fold.rule_evaluation import Scoped, Settings
from spark_jobs.manifest import Manifest
from spark_jobs.nested_tables import CLUSTER, JOB
from spark_jobs.run_files import EXECUTIONS, JOB_STATE, RunFiles
from spark_jobs.serving import CHECKPOINT_UPLOAD, SKIPPED_INPUT
from spark_jobs.small import events, snapshots, taskmanagers
from spark_jobs.small.rows import MOST_BYTES, SmallLake, TooLarge, lies_here
from spark_jobs.small.tables import Parts, in_order, mapped
from spark_jobs.spans import (
    LINES_AFTER_TRIGGER,
    OTHER_SIDE_WITHIN,
    WINDOW,
    JobLookup,
    lookup_spans,
    merged,
    minute_spans,
    windows_between,
)
from spark_jobs.step_schemas import EXECUTION, FOUND, LEARNT_EXECUTION, SERVED_EVENT, TASKMANAGER_LINE
from spark_jobs.steps import executions, locations, uploads
from spark_jobs.transforms import group_windows
from spark_jobs.transforms.exception_batches import exception_columns
from spark_jobs.transforms.fold_batches import FOLDED, folded_batches

MOST_STATE_BYTES = 4 * MOST_BYTES
MOST_EXECUTIONS = 100_000
"""Attempts of subtasks that are remembered: as plain rows they take a kilobyte each."""

_WRITTEN_STATE = ("cluster", "job_id", "state")


def fits(lake: LakeReader, previous: Manifest | None, run_dir: str) -> bool:
    """Whether all lies on this machine, and what is remembered is little. How much is new is seen while it is read."""
    if not lies_here(lake.root, run_dir, previous.run_dir if previous else ""):
        return False
    filesystem, root = fsspec.core.url_to_fs(previous.run_dir if previous else run_dir)
    files = previous.state.get(JOB_STATE, ()) if previous else ()
    return sum(filesystem.size(f"{root}/{file}") or 0 for file in files) <= MOST_STATE_BYTES


class SmallCycle:
    """One run over the rows that are new since ``previous``; ``steps`` writes everything but the manifest.

    Raises :class:`spark_jobs.small.rows.TooLarge`; then Spark may write to the same directory.
    """

    def __init__(
        self, lake: SmallLake, previous: Manifest | None, run_dir: RunFiles,
        thresholds: Sequence[Scoped] = (), recovery_points: Sequence[Scoped] = (),
    ) -> None:  # fmt: skip
        self.lake = lake
        self.previous = previous
        self.run_dir = run_dir
        self.settings = Settings(thresholds, recovery_points)
        self.from_seq = {table: previous.to_seq.get(table, 0) if previous else 0 for table in CYCLE_TABLES}

    def steps(self) -> Iterator[tuple[str, int]]:
        """Write part after part; yields the name of each and how many rows it got."""
        if self._has_new("references"):
            yield CHECKPOINT_UPLOAD.name, self.run_dir.take_table(CHECKPOINT_UPLOAD.name, self.new_uploads)
        jobs = self._folded(self.parts)
        yield "jobs", self.run_dir.take_jobs("jobs", jobs)
        if lookups := _asked(jobs):
            yield "jobs looked up", self.run_dir.take_jobs("jobs_looked_up", self._folded(self._with_found(lookups)))
        if self._names_executions:
            yield EXECUTIONS, self.run_dir.take_state(EXECUTIONS, self.executions.select(EXECUTION.names))
        elif self.lake.clusters is not None:
            yield EXECUTIONS, self.run_dir.take_state(EXECUTIONS, self.carried_executions)
        elif self.previous:
            self.run_dir.copy_snapshot(self.previous, EXECUTIONS)

    def _folded(self, parts: Parts) -> pa.Table:
        older_snapshots = any(self.from_seq[table] for table in with_same_rows("snapshots"))
        return pa.Table.from_batches(folded_batches(in_order(parts).to_batches(), self.settings, False, older_snapshots), FOLDED)

    # What is new.

    def _new(self, table: str) -> pa.Table:
        return self.lake.new_rows(table, self.from_seq)

    def _has_new(self, table: str) -> bool:
        return self.lake.has_new_rows(table, self.from_seq)

    @cached_property
    def parts(self) -> Parts:
        """What is new of each job and what is remembered of it, by part: see :class:`spark_jobs.fold.job_update.JobUpdate`."""
        parts = dict(self._parts_of_life)
        if self._names_executions:
            parts["executions"] = mapped(self.executions, executions.newly_placed_batches, EXECUTION)
            lines = mapped(self._read_events, locations.loss_batches, locations.LOSS)
            rows = in_order({"executions": self.executions, "lines": lines}, CLUSTER)
            parts["taskmanager_lines"] = mapped(rows, locations.taskmanager_line_batches, TASKMANAGER_LINE)
        if self._has_new("vertex_starts"):
            parts["vertex_starts"] = self._new("vertex_starts").drop_columns(["source"])
        if self._has_new("vertex_gauges"):
            parts["vertex_gauges"] = self._new("vertex_gauges").drop_columns(["source"])
        if self._has_new("exceptions"):
            parts["exceptions"] = pa.table(exception_columns(self._new("exceptions")))
        if self._has_new("skips"):
            parts["skips"] = _skips(self._new("skips"))
        if self._has_new("vertex_metrics"):
            parts[group_windows.PART] = self._samples(self._new("vertex_metrics"))
        if self._has_new("taskmanagers"):
            parts["taskmanagers"] = taskmanagers.of_jobs(self._new("taskmanagers").to_pylist())
        if self._has_new("references"):
            parts["uploads"] = self.new_uploads
        if self._has_new("snapshots"):
            parts["snapshots"] = snapshots.of_jobs(_wanted(self._asked_of_files), self._new("snapshots").to_pylist())
        return parts

    @cached_property
    def _parts_of_life(self) -> Parts:
        """What facts and restores follow from."""
        parts = {"state": self._carried(JOB_STATE, _WRITTEN_STATE).rename_columns([*JOB, "packed"])}
        for name, table in (("answers", "jobs"), ("checkpoints", "checkpoints")):
            if self._has_new(table):
                parts[name] = self._new(table).drop_columns(["source"])
        if self._has_new("vertex_checkpoints"):
            parts["vertex_checkpoints"] = self._new("vertex_checkpoints").select([*JOB, *OF_VERTEX])
        if self._has_new("log_records"):
            parts["events"] = self.events
        return parts

    def _carried(self, name: str, columns: Sequence[str]) -> pa.Table:
        """A snapshot that the last run left."""
        files = self.previous.state.get(name, ()) if self.previous else ()
        filesystem, root = fsspec.core.url_to_fs(self.previous.run_dir if self.previous else self.run_dir.uri)
        read = []
        for path in files:
            with filesystem.open(f"{root}/{path}", "rb") as handle:
                snapshot = ParquetStream(handle, checks_pages=True)
                if name == EXECUTIONS and self.lake.most_rows is not None and snapshot.metadata.num_rows > MOST_EXECUTIONS:
                    raise TooLarge(f"{snapshot.metadata.num_rows} remembered attempts are more than one process should hold.")
                there = self._of_clusters(snapshot, [column for column in columns if column in snapshot.schema_arrow.names])
                for column in columns:
                    # Left by an earlier version: read by the names that it shares.
                    if column not in there.column_names:
                        there = there.append_column(column, pa.nulls(there.num_rows, pa.string()))
                read.append(there)
        if not read:
            return pa.table({column: pa.array([], pa.binary() if column == "state" else pa.string()) for column in columns})
        rows = pa.concat_tables(read)
        return rows.filter(pc.is_valid(rows["state"])) if "state" in columns else rows

    def _of_clusters(self, snapshot: ParquetStream, columns: list[str]) -> pa.Table:
        if self.lake.clusters is None:
            return snapshot.read(columns)
        known = pa.array(self.lake.clusters, pa.string())
        batches = (batch.filter(pc.is_in(batch["cluster"], known)) for batch in snapshot.iter_batches(columns=columns))
        return pa.Table.from_batches(batches, pa.schema([snapshot.schema_arrow.field(column) for column in columns]))

    # Log events, completed with where their task ran.

    @cached_property
    def events(self) -> pa.Table:
        return self._located(self._read_events) if self._names_executions else self._read_events

    def _located(self, events: pa.Table) -> pa.Table:
        known = self.executions if self._names_executions else self.carried_executions
        return mapped(in_order({"executions": known, "events": events}, CLUSTER), locations.located_batches, SERVED_EVENT)

    @cached_property
    def _read_events(self) -> pa.Table:
        return events.recognised(self._new("log_records"))

    @cached_property
    def _names_executions(self) -> bool:
        """Whether where tasks ran is told by any new line, or matters to it."""
        return self._has_new("log_records") and any(
            self._read_events[name].null_count < self._read_events.num_rows for name in locations.NAMED_BY
        )

    @cached_property
    def executions(self) -> pa.Table:
        told = mapped(self._read_events.select(executions.TOLD.names), executions.telling_batches, executions.TOLD)
        return mapped(in_order({"carried": self.carried_executions, "told": told}, CLUSTER), executions.learnt_batches, LEARNT_EXECUTION)

    @cached_property
    def carried_executions(self) -> pa.Table:
        return self._carried(EXECUTIONS, EXECUTION.names).cast(EXECUTION)

    # Metric samples.

    def _samples(self, new: pa.Table) -> pa.Table:
        """New ones, and all of the windows that they fall into; samples of history are alone in theirs."""
        rows = new
        is_history = pc.equal(pc.fill_null(new["source"], ""), HISTORY)
        if any(self.from_seq.values()):
            history, new = new.filter(is_history), new.filter(pc.invert(is_history))
            times = [(file.first_time, file.last_time) for file in self.lake.new_files("vertex_metrics", self.from_seq)]
            touched = windows_between(times, WINDOW)
            if touched is None:
                starts = pc.unique(pc.floor_temporal(new["ts"].drop_null(), WINDOW // timedelta(seconds=1), "second")).to_pylist()
                touched = merged((start, start + WINDOW) for start in starts)
            rows = self.lake.rows_in("vertex_metrics", touched) if new.num_rows else new
            rows = pa.concat_tables([_not_of_history(rows), history])
        return _flagged(rows, self.from_seq["vertex_metrics"])

    # What parsed _metadata tell.

    @cached_property
    def _asked_of_files(self) -> pa.Table:
        """What every job would know of them."""
        batches = folded_batches(in_order(self._parts_of_life).to_batches(), self.settings, compares=True)
        return pa.Table.from_batches(batches, FOLDED).select([*JOB, "comparisons", "wanted_keys"])

    @cached_property
    def new_uploads(self) -> pa.Table:
        """Of checkpoints one side of whose comparison was read since the last run."""
        new = self._new("references").select(uploads.REFERENCE.names)
        read = mapped(new, uploads.whole_batches, uploads.WHOLE)
        if any(self.from_seq.values()):
            seen = pc.min_max(new["observed_at"]).as_py()
            span = seen["min"] - OTHER_SIDE_WITHIN, seen["max"] + timedelta(seconds=1)
            new = self.lake.rows_in("references", [span]).select(uploads.REFERENCE.names)
        files = mapped(new, uploads.file_batches, uploads.REFERENCE)
        rows = in_order({"asked": self._asked_of_files, "read": read, "references": files}, CLUSTER)
        return mapped(rows, uploads.upload_batches, uploads.UPLOAD)

    # What came longer ago.

    def _with_found(self, lookups: Sequence[JobLookup]) -> Parts:
        """The parts of these jobs, and rows of theirs that were triggered in the spans they asked for."""
        triggers, lines = lookup_spans(lookups)
        records = self.lake.rows_in("log_records", lines)
        records = records.filter(pc.match_substring(records["message"], "heckpoint"))
        reported = events.recognised(records)
        reported = reported.filter(pc.is_in(reported["kind"], pa.array(KINDS_OF_CHECKPOINT)))
        found = {
            "found_checkpoints": self.lake.rows_in("checkpoints", triggers).drop_columns(["source"]),
            "found_vertex_checkpoints": self.lake.rows_in("vertex_checkpoints", triggers).select([*JOB, *OF_VERTEX]),
            "found_lines": self._located(reported),
        }
        jobs = {(one.cluster, one.job_id): one for one in lookups}
        cut = {name: _asked_rows(rows, jobs, "ts" if name == "found_lines" else "trigger_time") for name, rows in found.items()}
        wanted = [(one.cluster, one.job_id, one.keys) for one in lookups]
        if any(one.keys for one in lookups):
            cut["found_snapshots"] = snapshots.of_jobs(wanted, self.lake.new_rows("snapshots", {}).to_pylist())
        of_jobs = {name: _of_jobs(rows, jobs) for name, rows in self.parts.items()}
        if minutes := minute_spans(lookups):
            asked = {(one.cluster, one.job_id, minute) for one in lookups for minute in one.minutes}
            samples = _flagged(_not_of_history(self.lake.rows_in("vertex_metrics", minutes)), after_seq=0)
            found_samples = samples.filter(_in_minutes(samples, asked))
            if (new := of_jobs.get(group_windows.PART)) is not None:
                found_samples = pa.concat_tables([new.filter(pc.invert(_in_minutes(new, asked))), found_samples])
            of_jobs[group_windows.PART] = found_samples
        return {
            **of_jobs,
            **cut,
            "found": pa.Table.from_pylist([one._asdict() for one in lookups], FOUND),
        }


def _not_of_history(samples: pa.Table) -> pa.Table:
    return samples.filter(pc.not_equal(pc.fill_null(samples["source"], ""), HISTORY))


def _flagged(samples: pa.Table, after_seq: int) -> pa.Table:
    dated = samples.filter(pc.is_valid(samples["ts"]))
    is_new = pc.greater(dated["commit_seq"], after_seq)
    of_history = pc.equal(pc.fill_null(dated["source"], ""), HISTORY)
    flagged = dated.select(list(group_windows.SAMPLE)).append_column(group_windows.IS_NEW, is_new)
    return flagged.append_column(group_windows.IS_HISTORY, of_history)


def _in_minutes(samples: pa.Table, asked: Set[tuple[str, str, int]]) -> pa.Array:
    starts = pc.floor_temporal(samples["ts"], WINDOW // timedelta(seconds=1), "second").cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
    rows = zip(samples["cluster"].to_pylist(), samples["job_id"].to_pylist(), starts.to_pylist(), strict=True)
    return pa.array([row in asked for row in rows], pa.bool_())


def _asked(jobs: pa.Table) -> list[JobLookup]:
    rows = jobs.select([*JOB, "lookup"]).filter(pc.is_valid(jobs["lookup"])).to_pylist()
    return [JobLookup(row["cluster"], row["job_id"], **row["lookup"]) for row in rows]


def _of_jobs(rows: pa.Table, jobs: Mapping[tuple[str, str], JobLookup]) -> pa.Table:
    keys = zip(rows["cluster"].to_pylist(), rows["job_id"].to_pylist(), strict=True)
    return rows.filter(pa.array([key in jobs for key in keys], pa.bool_()))


def _asked_rows(rows: pa.Table, jobs: Mapping[tuple[str, str], JobLookup], time_column: str) -> pa.Table:
    of_jobs = _of_jobs(rows, jobs)
    later = LINES_AFTER_TRIGGER // timedelta(milliseconds=1) if time_column == "ts" else 0
    instants = of_jobs[time_column].cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()).to_pylist()
    keys = zip(of_jobs["cluster"].to_pylist(), of_jobs["job_id"].to_pylist(), instants, strict=True)
    inside = [at is not None and jobs[cluster, job].from_ms <= at <= jobs[cluster, job].to_ms + later for cluster, job, at in keys]
    return of_jobs.filter(pa.array(inside, pa.bool_()))


def _wanted(folded: pa.Table) -> list[tuple[str, str, list[str]]]:
    rows = folded.filter(pc.greater(pc.list_value_length(folded["wanted_keys"]), 0)).to_pylist()
    return [(row["cluster"], row["job_id"], row["wanted_keys"]) for row in rows]


def _skips(reported: pa.Table) -> pa.Table:
    """They name no job."""
    made = {name: reported[name] for name in reported.column_names} | {
        "as_of": reported["observed_at"], "job_id": pa.nulls(reported.num_rows, pa.string()),
    }  # fmt: skip
    return pa.table({name: made[name] for name in (*SKIPPED_INPUT.column_names, "job_id")})
