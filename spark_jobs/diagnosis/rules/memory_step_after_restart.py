"""Flink loads user classes again for each attempt, and whatever refers to an earlier one keeps its
classes and buffers (``flink-docs``, "Unloading of Dynamically Loaded Classes in User Code").
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median

from ingest.messages import join_messages, message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.restart_episodes import READS, SAME_MS, episodes
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow, TaskManagerSample

RULE = "memory.step_after_restart"
LEFT, CRITICAL = f"{RULE}.restarts_left", f"{RULE}.critical_restarts_left"
STEP_BYTES = 1 << 20
"""Less is what the compiler and class loading add by themselves."""
RESTARTS = 3
"""The first restarts load what the first start did not need."""
MOST_FALLS = 0.2
"""A share of the steps: if levels sometimes fall, a collection that unloads classes does free the
memory.
"""
COMPARABLE = 2.0
"""The largest factor between running times: memory also grows while a job runs."""
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


@dataclass(frozen=True, slots=True)
class Steps:
    """One kind of memory of one TaskManager at the end of each period between restarts: (restarts
    before it, time, bytes).
    """

    taskmanager_id: str
    host: str | None
    kind: str
    levels: Sequence[tuple[int, int, int]]
    step_bytes: float
    limit_bytes: int | None

    @property
    def left(self) -> float | None:
        return (
            None
            if self.limit_bytes is None
            else max(self.limit_bytes - self.levels[-1][2], 0) / self.step_bytes
        )

    @property
    def urgency(self) -> tuple[bool, float, float]:
        return self.left is None, self.left or 0.0, -self.step_bytes


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
            LEFT,
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
    grown = [
        step
        for step in _steps(window)
        if step.step_bytes >= STEP_BYTES and (step.left is None or step.left <= limits[LEFT])
    ]
    if grown:
        yield _finding(
            window,
            limits,
            sorted(grown, key=lambda steps: (*steps.urgency, steps.kind, steps.taskmanager_id)),
        )


def _steps(window: JobWindow) -> Iterator[Steps]:
    repeated = _repeated_restarts(window)
    for name, samples in _newest_processes(window.taskmanagers).items():
        by_restart = _spells(samples, repeated)
        ends = {number: spell[-1] for number, spell in by_restart.items()}
        spells = _comparable(by_restart)
        newest = samples[-1]
        for kind, used, limit in (
            (METASPACE, "metaspace_used_bytes", newest.metaspace_limit_bytes),
            (DIRECT, "direct_used_bytes", newest.direct_limit_bytes),
        ):
            levels = _levels(spells, used)
            # Levels that are left out may only weaken the finding.
            step = min(_step(levels), _step(_levels(ends, used)))
            if step > 0:
                yield Steps(name, newest.host, kind, levels, step, limit)


def _step(levels: Sequence[tuple[int, int, int]]) -> float:
    if len(levels) <= RESTARTS:
        return 0
    step = _slope(levels)
    falls = sum(
        later - earlier < -0.1 * step for (_, _, earlier), (_, _, later) in pairwise(levels)
    )
    return step if falls <= MOST_FALLS * (len(levels) - 1) else 0


def _repeated_restarts(window: JobWindow) -> list[int]:
    begun = {episode.begun_ms for episode in episodes(window, 0)}
    return sorted(
        annotation.at_ms
        for annotation in window.annotations
        if annotation.kind == "restart"
        and not any(abs(annotation.at_ms - at_ms) <= SAME_MS for at_ms in begun)
    )


def _newest_processes(
    samples: Sequence[TaskManagerSample],
) -> dict[str, list[TaskManagerSample]]:
    processes: dict[str, list[TaskManagerSample]] = {}
    for sample in sorted(samples, key=lambda sample: sample.at_ms):
        own = processes.setdefault(sample.taskmanager_id, [])
        if own and any(
            before is not None and now is not None and now < before
            for before, now in ((own[-1].cpu_ms, sample.cpu_ms), (own[-1].gc_ms, sample.gc_ms))
        ):
            own.clear()
        own.append(sample)
    return processes


def _spells(
    samples: Sequence[TaskManagerSample], repeated: Sequence[int]
) -> dict[int, list[TaskManagerSample]]:
    spells: dict[int, list[TaskManagerSample]] = {}
    for sample in samples:
        before = sample.restarts - sum(at_ms < sample.at_ms for at_ms in repeated)
        spells.setdefault(before, []).append(sample)
    return spells


def _comparable(
    spells: Mapping[int, Sequence[TaskManagerSample]],
) -> dict[int, TaskManagerSample]:
    """Samples taken after about the same running time as after the other restarts. Much shorter or
    longer periods are left out, except the first.
    """
    ends = [spell[-1].at_ms for spell in spells.values()]
    ended = [later - earlier for earlier, later in pairwise(ends[:-1])]
    usual_ms = median(ended) if ended else None
    comparable: dict[int, TaskManagerSample] = {}
    begun_ms = None
    for number, spell in spells.items():
        fitting = [
            sample
            for sample in spell
            if usual_ms is None
            or begun_ms is None
            or usual_ms / COMPARABLE <= sample.at_ms - begun_ms <= usual_ms * COMPARABLE
        ]
        if fitting:
            comparable[number] = fitting[-1]
        begun_ms = spell[-1].at_ms
    return comparable


def _levels(spells: dict[int, TaskManagerSample], used: str) -> list[tuple[int, int, int]]:
    return [
        (restarts, sample.at_ms, value)
        for restarts, sample in spells.items()
        if (value := getattr(sample, used)) is not None
    ]


def _slope(levels: Sequence[tuple[int, int, int]]) -> float:
    """Bytes a restart: the median over all pairs (Theil and Sen), which one odd level does not
    move.
    """
    return median(
        (later - earlier) / (after - before)
        for (before, _, earlier), (after, _, later) in combinations(levels, 2)
    )


def _finding(window: JobWindow, limits: Limits, grown: list[Steps]) -> Finding:
    worst = grown[0]
    where, (restarts, at_ms, now) = worst.host or worst.taskmanager_id, worst.levels[-1]
    left, seen = worst.left, restarts - worst.levels[0][0]
    critical = left is not None and left <= limits[CRITICAL]
    others = len({steps.taskmanager_id for steps in grown}) - 1
    also = (
        plural(
            others,
            " {count:count} other TaskManager shows it too.",
            " {count:count} other TaskManagers show it too.",
        )
        if others
        else ""
    )
    kinds = {steps.kind: steps for steps in reversed(grown) if steps.kind != worst.kind}
    also += join_messages(
        (
            message(
                " {capitalize:name} grows by {round:bytes} a restart as well.",
                capitalize=kind.capitalize(),
                round=round(steps.step_bytes),
            )
            for kind, steps in kinds.items()
        )
    )
    full = (
        message("is full after {int:number} more", int=int(left))
        if left is not None
        else message("grows towards a limit that is not known")
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
        Evidence(message("restarts seen"), seen, "count", RESTARTS, ">="),
    ]
    if left is not None:
        evidence[1:1] = [
            limits.evidence(
                message("restarts until it is full"),
                left,
                CRITICAL if critical else LEFT,
                comparison="<=",
            )
        ]
        evidence.append(
            Evidence(message("limit of {kind:name}", kind=worst.kind), worst.limit_bytes, "bytes")
        )
    return job_finding(
        window,
        RULE,
        "critical" if critical else "warning" if left is not None else "info",
        "high" if left is not None else "medium",
        title=message(
            "Each restart leaves {round:bytes} of {kind:name} behind on {where:name}",
            round=round(worst.step_bytes),
            kind=worst.kind,
            where=where,
        ),
        cause=(
            message(
                "Over {seen:message}, {kind:name} of {where:name} rose from {levels:bytes} to "
                "{now:bytes}; at this pace it {full:message}.{also:message} "
                "Something of earlier attempts of the job is still referred to.",
                seen=plural(seen, "{count:count} restart", "{count:count} restarts"),
                kind=worst.kind,
                where=where,
                levels=worst.levels[0][2],
                now=now,
                full=full,
                also=also,
            )
        ),
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
