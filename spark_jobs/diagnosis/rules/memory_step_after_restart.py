"""Flink loads user classes again for each attempt. A reference to an earlier attempt keeps its
classes and buffers (``flink-docs``, "Unloading of Dynamically Loaded Classes in User Code").
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ingest.messages import join_messages, message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.restart_episodes import READS, SAME_MS, episodes
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow, TaskManagerSample
from spark_jobs.diagnosis.statistics import slopes

RULE = "memory.step_after_restart"
RESTARTS_LEFT, CRITICAL = f"{RULE}.restarts_left", f"{RULE}.critical_restarts_left"
STEP_BYTES = 1 << 20
"""The JVM's compiler and class loading may add less."""
RESTARTS = 3
"""The first restarts load what the first start did not need."""
MOST_FALLS = 0.2
"""Share of the steps: if levels fall more often, unloading of classes frees the memory."""
COMPARABLE = 2.0
"""Largest factor between running times: memory also grows while a job runs."""
STILL_REFERRED_TO = message("Something of earlier attempts of the job is still referred to.")
METASPACE, DIRECT = "metaspace", message("direct memory")
_NEXT_STEPS = {
    METASPACE: message(
        "Take a heap dump of the TaskManager and look for what refers to several class "
        "loaders of the job: a thread, timer or cache that close() does not end. "
        "Libraries that do so belong in Flink's lib folder. "
        "taskmanager.memory.jvm-metaspace.size only buys time."
    ),
    DIRECT: message(
        "Look for clients and buffers that close() does not release: threads that outlive "
        "their task keep them. taskmanager.memory.task.off-heap.size only buys time."
    ),
}


Levels = Sequence[tuple[int, int, int]]
"""At the end of each period between restarts: (restarts before it, epoch ms, bytes)."""


@dataclass(frozen=True)
class Steps:
    """One kind of memory of one TaskManager."""

    taskmanager_id: str
    host: str | None
    kind: str
    levels: Levels
    step_bytes: float
    limit_bytes: int | None

    @property
    def restarts_left(self) -> float | None:
        return (
            None
            if self.limit_bytes is None
            else max(self.limit_bytes - self.levels[-1][2], 0) / self.step_bytes
        )

    @property
    def urgency(self) -> tuple[bool, float, float]:
        """Sorts the most urgent first."""
        return self.restarts_left is None, self.restarts_left or 0.0, -self.step_bytes


@rule(
    RULE,
    message("Restarts leave memory behind"),
    message(
        "After each restart of the job, a TaskManager has more metaspace or direct memory in "
        "use, until it is full."
    ),
    fed_by="incidents/1.20.5/leaking",
    reads=READS,
    needs=("taskmanagers", "annotations"),
    thresholds=(
        Threshold(
            RESTARTS_LEFT,
            50,
            "count",
            1,
            1e6,
            message(
                "For most jobs, more restarts than that take weeks, and TaskManagers are "
                "replaced before."
            ),
        ),
        Threshold(
            CRITICAL,
            5,
            "count",
            0,
            1e6,
            message(
                "A restart loop makes five restarts within minutes, and then TaskManagers "
                "fail one after the other."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal:
        return
    if not window.taskmanagers:
        restarts = sum(annotation.kind == "restart" for annotation in window.annotations)
        if restarts >= RESTARTS:
            raise NotJudged(message("the memory of the TaskManagers that it has slots on"))
        return
    growing = [
        steps
        for steps in _steps(window)
        if steps.step_bytes >= STEP_BYTES
        and (steps.restarts_left is None or steps.restarts_left <= limits[RESTARTS_LEFT])
    ]
    if growing:
        growing.sort(key=lambda steps: (*steps.urgency, steps.kind, steps.taskmanager_id))
        yield _finding(window, limits, growing)


def _steps(window: JobWindow) -> Iterator[Steps]:
    repeated = _repeated_restarts(window)
    for name, samples in _newest_processes(window.taskmanagers).items():
        periods = _periods(samples, repeated)
        ends = {restarts: period[-1] for restarts, period in periods.items()}
        comparable = _comparable(periods)
        newest = samples[-1]
        for kind, used, limit in (
            (METASPACE, "metaspace_used_bytes", newest.metaspace_limit_bytes),
            (DIRECT, "direct_used_bytes", newest.direct_limit_bytes),
        ):
            levels = _levels(comparable, used)
            # Levels that are left out must not cause a finding.
            step = min(_step(levels), _step(_levels(ends, used)))
            if step > 0:
                yield Steps(name, newest.host, kind, levels, step, limit)


def _step(levels: Levels) -> float:
    if len(levels) <= RESTARTS:
        return 0
    # Bytes a restart, by Theil and Sen.
    step = median(slopes((restarts, used) for restarts, _, used in levels))
    falls = sum(
        later - earlier < -0.1 * step for (_, _, earlier), (_, _, later) in pairwise(levels)
    )
    return step if falls <= MOST_FALLS * (len(levels) - 1) else 0


def _repeated_restarts(window: JobWindow) -> list[int]:
    """Restarts before which not all tasks ran."""
    begin_times = {episode.begun_ms for episode in episodes(window, 0)}
    return sorted(
        annotation.at_ms
        for annotation in window.annotations
        if annotation.kind == "restart"
        and not any(abs(annotation.at_ms - at_ms) <= SAME_MS for at_ms in begin_times)
    )


def _newest_processes(samples: Sequence[TaskManagerSample]) -> dict[str, list[TaskManagerSample]]:
    """TaskManager → samples since its process began, with counters at 0."""
    processes: dict[str, list[TaskManagerSample]] = {}
    for sample in sorted(samples, key=lambda sample: sample.at_ms):
        process = processes.setdefault(sample.taskmanager_id, [])
        if process and any(
            previous is not None and current is not None and current < previous
            for previous, current in (
                (process[-1].cpu_ms, sample.cpu_ms),
                (process[-1].gc_ms, sample.gc_ms),
            )
        ):
            process.clear()
        process.append(sample)
    return processes


def _periods(
    samples: Sequence[TaskManagerSample], repeated: Sequence[int]
) -> dict[int, list[TaskManagerSample]]:
    """Samples by number of restarts before; ``repeated`` ones do not count."""
    periods: dict[int, list[TaskManagerSample]] = {}
    for sample in samples:
        restarts = sample.restarts - sum(at_ms < sample.at_ms for at_ms in repeated)
        periods.setdefault(restarts, []).append(sample)
    return periods


def _comparable(periods: Mapping[int, Sequence[TaskManagerSample]]) -> dict[int, TaskManagerSample]:
    """The last sample of each period after about the usual running time, if there is any."""
    ends = [period[-1].at_ms for period in periods.values()]
    lengths_ms = [later - earlier for earlier, later in pairwise(ends[:-1])]
    usual_ms = median(lengths_ms) if lengths_ms else None
    comparable: dict[int, TaskManagerSample] = {}
    begun_ms = None
    for restarts, period in periods.items():
        samples = [
            sample
            for sample in period
            if usual_ms is None
            or begun_ms is None
            or usual_ms / COMPARABLE <= sample.at_ms - begun_ms <= usual_ms * COMPARABLE
        ]
        if samples:
            comparable[restarts] = samples[-1]
        begun_ms = period[-1].at_ms
    return comparable


def _levels(samples: dict[int, TaskManagerSample], field_name: str) -> Levels:
    return [
        (restarts, sample.at_ms, value)
        for restarts, sample in samples.items()
        if (value := getattr(sample, field_name)) is not None
    ]


def _finding(window: JobWindow, limits: Limits, growing: list[Steps]) -> Finding:
    worst = growing[0]
    where, (restarts, at_ms, newest_bytes) = worst.host or worst.taskmanager_id, worst.levels[-1]
    restarts_left, restart_count = worst.restarts_left, restarts - worst.levels[0][0]
    is_critical = restarts_left is not None and restarts_left <= limits[CRITICAL]
    full = (
        message("is full after {int:number} more", int=int(restarts_left))
        if restarts_left is not None
        else message("grows towards a limit that is not known")
    )
    cause = message(
        "Over {seen:message}, {kind:name} of {where:name} rose from {levels:bytes} to {now:bytes}; "
        "at this pace it {full:message}.",
        seen=plural(restart_count, "{count:count} restart", "{count:count} restarts"),
        kind=worst.kind,
        where=where,
        levels=worst.levels[0][2],
        now=newest_bytes,
        full=full,
    )
    evidence = [
        Evidence(
            message("left behind by a restart"),
            round(worst.step_bytes),
            "bytes",
            STEP_BYTES,
            ">=",
            note=worst.kind,
        ),
        Evidence(message("restarts seen"), restart_count, "count", RESTARTS, ">="),
    ]
    if restarts_left is not None:
        evidence[1:1] = [
            limits.evidence(
                message("restarts until it is full"),
                restarts_left,
                CRITICAL if is_critical else RESTARTS_LEFT,
                comparison="<=",
            )
        ]
        evidence.append(
            Evidence(message("limit of {kind:name}", kind=worst.kind), worst.limit_bytes, "bytes")
        )
    return job_finding(
        window,
        RULE,
        "critical" if is_critical else "warning" if restarts_left is not None else "info",
        "high" if restarts_left is not None else "medium",
        title=message(
            "Each restart leaves {round:bytes} of {kind:name} behind on {where:name}",
            round=round(worst.step_bytes),
            kind=worst.kind,
            where=where,
        ),
        cause=join_messages((cause, *_others(growing), STILL_REFERRED_TO), " "),
        next_step=_NEXT_STEPS[worst.kind],
        seen_at_ms=at_ms,
        evidence=evidence,
        data={
            "taskmanager_id": worst.taskmanager_id,
            "hosts": [worst.host] if worst.host else [],
            "kind": worst.kind,
            "levels": [list(level) for level in worst.levels],
        },
    )


def _others(growing: list[Steps]) -> Iterator[str]:
    worst = growing[0]
    if other_count := len({steps.taskmanager_id for steps in growing}) - 1:
        yield plural(
            other_count,
            "{count:count} other TaskManager shows it too.",
            "{count:count} other TaskManagers show it too.",
        )
    kinds = {steps.kind: steps for steps in reversed(growing) if steps.kind != worst.kind}
    for kind, steps in kinds.items():
        yield message(
            "{kind:opening} grows by {round:bytes} a restart as well.",
            kind=kind,
            round=round(steps.step_bytes),
        )
