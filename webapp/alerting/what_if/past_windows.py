"""Past minutes of one job as the rules read them, put together again from database and lake: what a
what-if judges.

Bounded in minutes, rows and samples. Full state per subtask is not read: a rule on it says that it
is unknown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet

from spark_jobs.diagnosis import samples
from spark_jobs.diagnosis.registry import events_read
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.stack_traces import condensed
from spark_jobs.diagnosis.window_contents import (
    DETAIL_CHARS,
    MESSAGE_CHARS,
    OF_SUBTASKS,
    WINDOW_MS,
    Timed,
)
from spark_jobs.fold.endings import STATE_CHANGED
from spark_jobs.fold.history import History, in_order, sample
from spark_jobs.fold.rule_evaluation import with_recovery_point
from spark_jobs.fold.taskmanagers import COLUMNS, TaskManagerHistory, restarts_of
from spark_jobs.fold.windows import job_windows
from webapp.alerting.what_if.past_gauges import read_gauges
from webapp.alerting.what_if.vertex_samples import Windows, read_vertex_windows
from webapp.checkpoints.models import CheckpointFact, CheckpointUpload, SizeTrend
from webapp.fleet.models import JobAnnotation, JobCurrent, JobException, JobStart, LogEvent
from webapp.hosts.taskmanager_samples import read_of_job
from webapp.lib.instants import epoch_ms, instant_of
from webapp.lib.samples import in_ms, rows_of, samples_of
from webapp.pressure.models import PressureWindow
from webapp.storage.recovery import recovery_point_of

MOST_WINDOWS = 10_080
MOST_FACTS, MOST_EVENTS, MOST_PRESSURE = 12_000, 3_000, 30_000
"""A week of minutes, with a checkpoint in each: read within a second, judged in a tenth of one.

Events of tasks apart.
"""
LOOK_BACK = timedelta(hours=2)
FAMILIES_ON_TASKMANAGERS = ("memory",)
FAMILIES_ON_SAMPLES = ("pressure", "data", "watermark", "source")
FAMILIES_ON_GAUGES = ("rocksdb", "join", "source")


@dataclass(frozen=True)
class PastWindows:
    """``whole_from`` is later than asked for where the bounds were met."""

    windows: list[JobWindow]
    whole_from: datetime


def read_past(
    job: JobCurrent, start: datetime, end: datetime, families: Iterable[str]
) -> PastWindows:
    """Minutes in which anything happened, oldest first; samples only for rules that read them.

    Raises what the storage raises.
    """
    vertices: Windows = {}
    whole_from = start
    if any(family in FAMILIES_ON_SAMPLES for family in families):
        vertices, whole_from = read_vertex_windows(
            job.cluster, job.job_id, job.parallelism, start, end
        )
    on_gauges = any(family in FAMILIES_ON_GAUGES for family in families)
    known = _Known(
        job,
        whole_from,
        end,
        read_gauges(job.cluster, job.job_id, start, end) if on_gauges else ([], []),
    )
    if any(family in FAMILIES_ON_TASKMANAGERS for family in families):
        known.read_taskmanagers(end)
    starts = known.starts(vertices)[-MOST_WINDOWS:]
    if len(starts) == MOST_WINDOWS:
        whole_from = max(whole_from, instant_of(starts[0]))
    return PastWindows(known.windows(starts, vertices), whole_from)


class _Known:
    """What the database holds of the job around the range, in order of time."""

    def __init__(self, job: JobCurrent, start: datetime, end: datetime, gauges: Timed) -> None:
        own = {"cluster": job.cluster, "job_id": job.job_id}
        self.job = job
        self.start_ms, self.end_ms = epoch_ms(start), epoch_ms(end)
        self.newest_ms = min(epoch_ms(job.judged_at or job.as_of), self.end_ms)
        facts = CheckpointFact.objects.filter(**own, trigger_time__lte=end).order_by(
            "-trigger_time", "-id"
        )[:MOST_FACTS]
        marks = JobAnnotation.objects.filter(**own, at__lte=end).order_by("-at", "-id")[:MOST_FACTS]
        thrown = JobException.objects.filter(**own, ts__lte=end).order_by("-ts", "-id")[:MOST_FACTS]
        began = JobStart.objects.filter(**own, running_at__lte=end).order_by("-at", "-id")[
            :MOST_FACTS
        ]
        logged = LogEvent.objects.filter(**own, ts__gte=start - LOOK_BACK, ts__lte=end).order_by(
            "-ts", "-id"
        )
        # Apart, so that thousands of deployed tasks do not push out the other events.
        of_tasks = events_read() & OF_SUBTASKS
        of_life = {*(events_read() - OF_SUBTASKS), *STATE_CHANGED}
        events = [
            _event(event)
            for kinds in (of_life, of_tasks)
            for event in logged.filter(_of_kinds(kinds))[:MOST_EVENTS]
        ]
        measured = PressureWindow.objects.filter(
            **own, window_start__gte=start - LOOK_BACK, window_start__lte=end
        )
        read = CheckpointUpload.objects.filter(**own, as_of__lte=end).order_by("-as_of", "-id")[
            :MOST_FACTS
        ]
        annotations = _timed(samples.Annotation, marks, "at")
        self.history = History(
            checkpoints=_timed(samples.CheckpointSample, facts, "trigger_time"),
            annotations=annotations,
            starts=_timed(samples.JobStart, began, "running_at"),
            failures=_timed(samples.JobFailure, thrown, "ts"),
            events=in_order(
                [(event.at_ms, event) for event in events if event.rule_kind in events_read()],
                MOST_FACTS,
            ),
            # In the order in which they became known: a window sees none from after it.
            uploads=_timed(samples.UploadedFiles, read, "as_of"),
            gauges=gauges,
            past=_timed(
                samples.VertexPast,
                measured.order_by("-window_start")[:MOST_PRESSURE],
                "window_start",
            ),
            states=_states(job, events),
            restarts=[one.at_ms for one in annotations[1] if one.kind == "restart"],
            vertex_states=(),
        )
        self.taskmanagers = TaskManagerHistory()
        self.recovery_point = recovery_point_of(job.cluster, job.job_id)
        self.trend = next(samples_of(samples.SizeTrend, SizeTrend.objects.filter(**own)[:1]), None)

    def read_taskmanagers(self, end: datetime) -> None:
        start = instant_of(self.start_ms) - LOOK_BACK
        rows = read_of_job(self.job.cluster, self.job.job_id, start, end, COLUMNS)
        self.taskmanagers = TaskManagerHistory(
            list(map(in_ms, rows)), restarts_of(self.history.states)
        )

    def starts(self, vertices: Windows) -> list[int]:
        """Starts of the minutes that something falls into."""
        history = self.history
        instants = {
            *vertices,
            *history.checkpoints[0],
            *(one.ended_ms for one in history.checkpoints[1]),
            *history.past[0],
        }
        instants.update(
            at_ms
            for timed in (history.annotations, history.failures, history.events, history.gauges)
            for at_ms in timed[0]
        )
        instants.update(at_ms for at_ms, _state in history.states)
        within = (at_ms for at_ms in instants if self.start_ms <= at_ms <= self.newest_ms)
        return sorted({at_ms // WINDOW_MS * WINDOW_MS for at_ms in within})

    def windows(self, starts: Sequence[int], vertices: Windows) -> list[JobWindow]:
        job = self.job
        read = (
            "name",
            "state",
            "start_time",
            "end_time",
            "flink_version",
            "graph",
            "checkpoint_config",
            "configuration",
        )
        current = in_ms({name: getattr(job, name) for name in read})
        made = job_windows(
            job.cluster,
            job.job_id,
            starts,
            self.newest_ms,
            current,
            self.trend,
            vertices,
            self.history,
            self.taskmanagers,
        )
        return [with_recovery_point(window, self.recovery_point) for window in made]


def _of_kinds(kinds: Iterable[str]) -> Q:
    """Lines of these kinds, as rules declare them."""
    named = [kind.partition(" ") for kind in sorted(kinds)]
    of_states = (Q(kind=name, fields__to_state=state) for name, _, state in named if state)
    return reduce(or_, of_states, Q(kind__in=[name for name, _, state in named if not state]))


def _states(job: JobCurrent, events: Iterable[samples.LogEvent]) -> list[tuple[int, str]]:
    """What the job entered when: the last states as the cycle knew them, earlier ones as the log
    reports them.
    """
    known = {(int(at_ms), str(state)) for at_ms, state in job.states or ()}
    logged = {
        (event.at_ms, str(event.fields["to_state"]))
        for event in events
        if event.kind in STATE_CHANGED and event.fields.get("to_state")
    }
    return sorted(known | logged)


def _timed(part: type, rows: QuerySet[Any], at: str) -> Timed:
    return in_order([(row[at], sample(part, row)) for row in rows_of(part, rows, at)], MOST_FACTS)


def _event(log_event: LogEvent) -> samples.LogEvent:
    same = (
        "kind",
        "checkpoint_id",
        "vertex_id",
        "vertex_name",
        "subtask",
        "attempt",
        "host",
        "container",
        "reason",
    )
    event = samples.LogEvent(
        at_ms=epoch_ms(log_event.ts),
        **{name: getattr(log_event, name) for name in same},
        fields=log_event.fields or {},
    )
    return replace(
        event,
        message=(log_event.message or "")[:MESSAGE_CHARS] or None,
        detail=condensed(log_event.detail, DETAIL_CHARS) or None,
    )
