"""The steps of a cycle: new rows → what they touch → those facts again, from all rows of theirs.

Frames that several steps use are checkpointed: computed once, held by the executors until the session
ends, and later plans start from them instead of growing with every step.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.lake.tables import TABLES
from spark_jobs.fold.checkpoint_log import TELLING
from spark_jobs.fold.judging import Scoped, Settings
from spark_jobs.lake import PinnedLake, Span
from spark_jobs.manifest import Manifest
from spark_jobs.run_dir import Carried, RunDir
from spark_jobs.schemas import serving_schema
from spark_jobs.serving import PRESSURE_WINDOW
from spark_jobs.transforms import carried as carry
from spark_jobs.transforms import checkpoint_triggers, executions, folding, log_events, touched, uploads
from spark_jobs.transforms.contract import serving_rows
from spark_jobs.transforms.instants import DAY_S, HOUR_S, floor_to
from spark_jobs.transforms.job_exceptions import job_exceptions
from spark_jobs.transforms.pressure import PAST, VERTEX_NAMES_SCHEMA, WINDOW_S, vertex_names, vertex_window_samples, vertex_windows
from spark_jobs.transforms.rollups import rollups
from spark_jobs.transforms.skipped_inputs import skipped_inputs

LINES_AFTER_TRIGGER = timedelta(days=1)
"""Lines about a checkpoint are looked for this long after its trigger; late messages come within hours."""

OTHER_SIDE_WITHIN = timedelta(days=1)
"""The snapshot that a checkpoint is compared with was read this long before it, at most."""

JOB = list(carry.JOB)
KEY = list(checkpoint_triggers.KEY)
NUMBER = list(checkpoint_triggers.NUMBER)
JOB_STATE = "job_state"
"""Snapshot of what is remembered of each job; a run that lacks it was left by an earlier version of Weir."""
_REFUSALS = ("trigger_refused", "trigger_failed", "checkpoint_failed")


class Recompute:
    """One run over the rows that are new since ``previous``; ``steps`` writes everything but the manifest."""

    def __init__(
        self, lake: PinnedLake, previous: Manifest | None, run_dir: RunDir,
        thresholds: Sequence[Scoped] = (), recovery_points: Sequence[Scoped] = (),
    ) -> None:  # fmt: skip
        self.lake = lake
        self.run_dir = run_dir
        self.settings = Settings(thresholds, recovery_points)
        self.from_seq = {table: previous.to_seq.get(table, 0) if previous else 0 for table in TABLES}
        self.previous = previous
        self.carried = Carried(lake.session, previous)

    def steps(self) -> Iterator[tuple[str, int]]:
        """Write table after table; yields the name of each and how many rows it got."""
        yield "log_event", self._if_new("log_event", "log_records", lambda: log_events.serving(self.new_events))
        for name, frame in self.tables.items():
            yield name, self.run_dir.write_table(name, frame)
        yield "retracted checkpoint_fact", self.run_dir.write_retracted("checkpoint_fact", self.retracted) if not self.is_first else 0
        yield "checkpoint_rollup", self.run_dir.write_table("checkpoint_rollup", self._rollups())
        yield "pressure_window", self._if_new("pressure_window", "vertex_metrics", lambda: self.pressure)
        yield "job_exception", self._if_new("job_exception", "exceptions", lambda: self.new_exceptions)
        yield "checkpoint_upload", self._if_new("checkpoint_upload", "references", lambda: self.new_uploads)
        yield "skipped_input", self.run_dir.write_table("skipped_input", self._skipped_inputs())
        for name, frame in self._remembered().items():
            yield f"state of {name}", self.run_dir.write_state(name, frame)

    # What is new.

    def _new(self, table: str) -> DataFrame:
        return self.lake.new_rows(table, self.from_seq[table])

    def _has_new(self, table: str) -> bool:
        return table in self._tables_with_news

    @cached_property
    def _tables_with_news(self) -> frozenset[str]:
        return frozenset(table for table, seq in self.from_seq.items() if self.lake.has_new_rows(table, seq))

    @cached_property
    def is_first(self) -> bool:
        """All rows of the lake are new: nothing has to be looked up again."""
        return not any(self.from_seq.values())

    @cached_property
    def new_checkpoints(self) -> DataFrame:
        return _held(self._new("checkpoints"))

    @cached_property
    def new_vertices(self) -> DataFrame:
        return _held(self._new("vertex_checkpoints"))

    @cached_property
    def new_jobs(self) -> DataFrame:
        return _held(self._new("jobs"))

    @cached_property
    def raw_events(self) -> DataFrame:
        return _held(log_events.events(self._new("log_records")))

    @cached_property
    def executions(self) -> DataFrame:
        none = self.lake.session.createDataFrame([], executions.EXECUTION_SCHEMA)
        return _held(executions.executions(self.raw_events, self.carried.frame("executions", none)))

    @cached_property
    def new_events(self) -> DataFrame:
        return _held(executions.locate(self.raw_events, self.executions))

    # What it touches.

    @cached_property
    def triggers(self) -> DataFrame:
        new = checkpoint_triggers.triggers(self.new_checkpoints, self.new_vertices, self.new_events)
        return _held(carry.triggers(new.unionByName(self.carried.frame("triggers", new))))

    @cached_property
    def carried_facts(self) -> DataFrame:
        return _held(self.carried.frame("facts", self._no_facts()))

    @cached_property
    def touched(self) -> DataFrame:
        told = touched.checkpoints(self.new_checkpoints, self.new_vertices, self.new_events, self.triggers)
        if self.is_first:
            return _held(told)
        pending = touched.pending(self.carried_facts, self.new_jobs, self.new_events)
        found = touched.unlocated(self.carried_lines, self.executions)
        stand_ins = self.carried_stand_ins.join(told, on=NUMBER, how="left_semi")
        keys = _held(told.unionByName(pending).unionByName(found).unionByName(stand_ins).distinct())
        days = _held(touched.days_not_carried(keys, self.carried_facts))
        spans = _spans(days.select(F.col("day").alias("at")), DAY_S)
        return _held(keys.unionByName(self._keys_of_days(days, spans)).distinct()) if spans else keys

    def _keys_of_days(self, days: DataFrame, spans: list[Span]) -> DataFrame:
        """All checkpoints of these jobs on these days: late rows change roll-ups whose other facts are not carried any more."""
        lines = _held(
            log_events.events(self.lake.rows_in("log_records", spans).where(F.col("message").startswith("Triggering checkpoint ")))
        )
        known = checkpoint_triggers.triggers(self.lake.rows_in("checkpoints", spans), self.lake.rows_in("vertex_checkpoints", spans), lines)
        day = floor_to("trigger_time", DAY_S)
        return known.withColumn("day", day).join(days, on=[*JOB, "day"], how="left_semi").select(*KEY)

    @cached_property
    def carried_stand_ins(self) -> DataFrame:
        """Keys of facts whose trigger no source had told of: the time in them only stands in for it."""
        return _held(self.carried.frame("stand_ins", self._no_facts().select(*KEY)))

    @cached_property
    def carried_lines(self) -> DataFrame:
        """(cluster, execution_id, key) of lines whose task was not known when they were read."""
        return _held(self.carried.frame("unlocated", touched.lines_without_place(self.new_events, self.triggers)))

    # The same facts again.

    @cached_property
    def rows_of_touched(self) -> tuple[DataFrame, DataFrame, DataFrame]:
        """Rows of ``checkpoints`` and ``vertex_checkpoints``, and located events, to recompute the touched facts from."""
        return (self.new_checkpoints, self.new_vertices, self.new_events) if self.is_first else self._all_rows_of_touched()

    @cached_property
    def facts(self) -> DataFrame:
        return self.tables["checkpoint_fact"]

    @cached_property
    def retracted(self) -> DataFrame:
        """Stand-ins that were touched and did not come out again: their trigger is known by now."""
        return _held(self.carried_stand_ins.join(self.touched, on=KEY, how="left_semi").join(self.facts, on=KEY, how="left_anti"))

    def _stand_ins(self) -> DataFrame:
        known = checkpoint_triggers.triggers(*self.rows_of_touched)
        now = self.facts.select(*KEY).join(known, on=KEY, how="left_anti")
        return self.carried_stand_ins.join(self.touched, on=KEY, how="left_anti").unionByName(now)

    def _unlocated(self) -> DataFrame:
        lines = touched.lines_without_place(self.new_events, self.triggers).unionByName(self.carried_lines)
        return lines.distinct().join(touched.placed(self.executions), on=["cluster", "execution_id"], how="left_anti")

    def _all_rows_of_touched(self) -> tuple[DataFrame, DataFrame, DataFrame]:
        keys = self.touched.select(*NUMBER).distinct()
        spans = _spans(self.touched.select(F.col("trigger_time").alias("at")), HOUR_S)
        checkpoints = self.lake.rows_in("checkpoints", spans).join(keys, on=NUMBER, how="left_semi")
        vertices = self.lake.rows_in("vertex_checkpoints", spans).join(keys, on=NUMBER, how="left_semi")
        records = self.lake.rows_in("log_records", _merged([(start, end + LINES_AFTER_TRIGGER) for start, end in spans]))
        lines = log_events.events(records.where(F.col("message").contains("heckpoint")))
        told = lines.where(F.col("kind").isin(*TELLING)).join(keys, on=NUMBER, how="left_semi")
        # Held, as the new rows of a first run are: a Connect client cannot send plans nested more than 100 deep.
        return _held(checkpoints), _held(vertices), _held(executions.locate(_held(told), self.executions))

    def _rollups(self) -> DataFrame:
        refusals = self.refusals
        changed = self.facts.select(*KEY)
        if not self.is_first:
            changed = changed.unionByName(self.retracted)
        hours = _held(touched.hours(changed, self.new_events.where(F.col("kind").isin(*_REFUSALS))))
        day = floor_to("hour", DAY_S).alias("day")
        days = hours.select(*JOB, day).distinct()
        facts = (
            self.known_facts.withColumn("day", floor_to("trigger_time", DAY_S)).join(days, on=[*JOB, "day"], how="left_semi").drop("day")
        )
        lines = refusals.withColumn("day", floor_to("ts", DAY_S)).join(days, on=[*JOB, "day"], how="left_semi").drop("day")
        return rollups(facts, lines).join(touched.periods(hours), on=[*JOB, "period", "period_start"], how="left_semi")

    # What jobs are remembered by.

    @cached_property
    def known_facts(self) -> DataFrame:
        """Carried facts and recomputed ones, each once."""
        before = self.carried_facts.join(self.facts, on=KEY, how="left_anti")
        if not self.is_first:
            before = before.join(self.retracted, on=KEY, how="left_anti")
        return _held(before.unionByName(self.facts))

    @cached_property
    def refusals(self) -> DataFrame:
        """Lines of refused triggers that got no id."""
        lines = self.new_events.unionByName(self.carried.frame("refusals", self.new_events))
        return _held(carry.refusals(lines.where(F.col("kind").isin(*_REFUSALS) & F.col("checkpoint_id").isNull())))

    @cached_property
    def vertex_names(self) -> DataFrame:
        none = self.lake.session.createDataFrame([], VERTEX_NAMES_SCHEMA)
        return _held(vertex_names(self.new_jobs, self.carried.frame("vertex_names", none)))

    @cached_property
    def pressure(self) -> DataFrame:
        return serving_rows(self.vertex_windows, PRESSURE_WINDOW)

    @cached_property
    def vertex_windows(self) -> DataFrame:
        new = self._new("vertex_metrics")
        window = [*JOB, "vertex_id", "window_start"]
        if not self.is_first:
            start = floor_to("ts", WINDOW_S).alias("window_start")
            windows = new.select(*JOB, "vertex_id", start).distinct()
            spans = _spans(windows.select(F.col("window_start").alias("at")), HOUR_S)
            new = self.lake.rows_in("vertex_metrics", spans).withColumn("window_start", start)
            new = new.join(windows, on=window, how="left_semi").drop("window_start")
        windows = vertex_windows(new, self.vertex_names)
        return _held(windows) if self._has_new("vertex_metrics") else windows

    @cached_property
    def new_exceptions(self) -> DataFrame:
        return _held(job_exceptions(self._new("exceptions"))) if self._has_new("exceptions") else self._none("job_exception")

    @cached_property
    def new_uploads(self) -> DataFrame:
        """Of checkpoints one side of whose comparison was read since the last run."""
        if not self._has_new("references"):
            return self._none("checkpoint_upload")
        new = self._new("references")
        # Facts and restores say what is compared; verdicts, which come later, rest on it.
        without = folding.tables(_held(folding.folded(self._jobs(self._none("checkpoint_upload")), self.settings)))
        facts = self.carried_facts.join(without["checkpoint_fact"], on=KEY, how="left_anti").unionByName(without["checkpoint_fact"])
        compared = _held(uploads.of_files(uploads.comparisons(facts, without["job_annotation"]), new))
        if not self.is_first:
            first, last = F.unix_seconds(F.min("observed_at")), F.unix_seconds(F.max("observed_at"))
            seen = new.agg(first.alias("first"), last.alias("last")).collect()[0]
            since = datetime.fromtimestamp(seen["first"], UTC) - OTHER_SIDE_WITHIN
            new = self.lake.rows_in("references", [(since, datetime.fromtimestamp(seen["last"] + 1, UTC))])
        return _held(uploads.uploads(compared, new))

    # One pass over each job.

    @cached_property
    def tables(self) -> dict[str, DataFrame]:
        return folding.tables(self.folded)

    @cached_property
    def folded(self) -> DataFrame:
        return _held(folding.folded(self.jobs(), self.settings))

    def jobs(self) -> DataFrame:
        """News and known facts of each job, nested: what is folded."""
        return self._jobs(self.new_uploads)

    def _jobs(self, new_uploads: DataFrame) -> DataFrame:
        checkpoints, vertices, lines = self.rows_of_touched
        line_at = F.least("ts", "observed_at")
        news: dict[str, DataFrame] = {
            "answers": self.new_jobs, "checkpoints": checkpoints, "vertex_checkpoints": vertices, "events": self.new_events,
            "lines": lines.where(F.col("kind").isin(*TELLING)),
        }  # fmt: skip
        times: list[tuple[DataFrame, str | Column]] = [(self.new_jobs, "observed_at"), (self.new_events, line_at)]
        if not self.is_first:
            news["touched"] = self.touched
        times.append((checkpoints if self.is_first else self.touched, "trigger_time"))
        if self._has_new("exceptions"):
            news["exceptions"] = self.new_exceptions
            times.append((self.new_exceptions, "ts"))
        if self._has_new("vertex_metrics"):
            news["placements"] = self._new("vertex_metrics").select(*JOB, "vertex_id", "ts", "host", "attempt")
            news["vertex_windows"] = vertex_window_samples(self.vertex_windows)
            news["pressure"] = self.pressure.select(*JOB, *PAST)
            times.append((self.pressure, "window_start"))
        if self._has_new("references"):
            news["uploads"] = new_uploads
            times.append((new_uploads, "as_of"))
        return folding.jobs(news, folding.earliest(times), self.carried_facts, self.carried_state, not self.is_first)

    @cached_property
    def carried_state(self) -> DataFrame:
        return self.carried.frame(JOB_STATE, self.lake.session.createDataFrame([], folding.STATE_SCHEMA))

    def _skipped_inputs(self) -> DataFrame:
        left_out = folding.left_out(self.folded)
        return left_out.unionByName(skipped_inputs(self._new("skips"))) if self._has_new("skips") else left_out

    def _remembered(self) -> dict[str, DataFrame]:
        return {
            JOB_STATE: folding.state_of_jobs(self.folded, self.carried_state),
            "executions": self.executions,
            "triggers": self.triggers,
            "stand_ins": self._stand_ins(),
            "unlocated": self._unlocated(),
            "facts": carry.recent_facts(self.known_facts),
            "refusals": self.refusals,
            "vertex_names": self.vertex_names,
        }

    def _if_new(self, name: str, source: str, frame: Callable[[], DataFrame]) -> int:
        """Write a table that rests on new rows of one lake table alone; nothing where that table has none."""
        return self.run_dir.write_table(name, frame()) if self._has_new(source) else 0

    def _no_facts(self) -> DataFrame:
        return self._none("checkpoint_fact")

    def _none(self, table: str) -> DataFrame:
        return self.lake.session.createDataFrame([], serving_schema(table))


def _held(frame: DataFrame) -> DataFrame:
    return frame.localCheckpoint()


def _spans(instants: DataFrame, length_s: int) -> list[Span]:
    """The windows of ``length_s`` that hold the column ``at``, those that touch merged: a few, whatever the number of rows."""
    rows = instants.select(F.unix_seconds(floor_to("at", length_s)).alias("start")).distinct().orderBy("start").collect()
    starts = [datetime.fromtimestamp(row.start, UTC) for row in rows]
    return _merged([(start, start + timedelta(seconds=length_s)) for start in starts])


def _merged(spans: list[Span]) -> list[Span]:
    """Spans in order, those that overlap or touch as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
