from collections.abc import Iterator

from ingest.messages import brief, message
from spark_jobs.diagnosis.checkpoint_history import INCREMENTAL_SIZE_SINCE, by_time, completed
from spark_jobs.diagnosis.findings import Confidence, Finding, Limits, NotJudged, Related, Threshold
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow, SizeTrend

RULE = "checkpoint.size_growth"
GROWTH, FORECAST = f"{RULE}.growth_per_day", f"{RULE}.forecast_bytes"
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
"""Most state grows and shrinks over a day."""
HORIZON_H = 168
"""A week is what a team needs to change a job and roll it out."""
ENOUGH_POINTS = 48


@rule(
    RULE,
    message("State grows"),
    message("The full state has grown steadily for a day, and its forecast crosses the limit."),
    hold_s=3_600,
    needs=("size_trend",),
    thresholds=(
        Threshold(
            GROWTH,
            0.1,
            "ratio",
            0.001,
            10,
            message(
                "A tenth a day doubles the state, and with it recovery time and storage, in about "
                "a week."
            ),
        ),
        Threshold(
            FORECAST,
            10 * (1 << 30),
            "bytes",
            1,
            1 << 60,
            message("Below ten gibibytes a restore takes minutes, however fast the state grows."),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if window.terminal or not window.checkpoints:
        return
    trend = window.size_trend
    if (
        trend is None
        or trend.bytes_per_h is None
        or trend.bytes_per_h <= 0
        or trend.from_time_ms is None
        or trend.to_time_ms is None
        or trend.to_time_ms - trend.from_time_ms < DAY_MS
    ):
        return
    newest = max(completed(window.checkpoints), key=by_time, default=None)
    if newest is None:
        return
    size = newest.state_bytes
    if size is None and window.version is not None and window.version < INCREMENTAL_SIZE_SINCE:
        raise NotJudged(
            message(
                "this release of Flink reports only the uploaded size of incremental checkpoints"
            )
        )
    if not size:
        return
    slope = trend.bytes_per_h_low if trend.bytes_per_h_low is not None else trend.bytes_per_h
    per_day = trend.bytes_per_h * 24 / size
    forecast = size + trend.bytes_per_h * HORIZON_H
    if slope <= 0 or per_day < limits[GROWTH] or forecast < limits[FORECAST]:
        return
    evidence = (
        limits.evidence(
            message("growth per day"),
            per_day,
            GROWTH,
            message("{slope:bytes} per hour, robust slope", slope=trend.bytes_per_h),
        ),
        limits.evidence(
            message("forecast in {limits:duration}", limits=HORIZON_H * HOUR_MS), forecast, FORECAST
        ),
    )
    largest = _largest(window)
    yield job_finding(
        window,
        RULE,
        "warning",
        _confidence(trend),
        title=message(
            "The state grows by {per_day:share} a day: {size:bytes} now, doubled in "
            "{doubled_ms:duration}",
            per_day=per_day,
            size=size,
            doubled_ms=size / trend.bytes_per_h * HOUR_MS,
        ),
        cause=message(
            "More is written to the state than is removed from it{words:name}.",
            words=f"; {brief(largest[0])} {largest[1]}" if largest else "",
        ),
        next_step=message(
            "Look for state without a time to live (StateTtlConfig, table.exec.state.ttl): "
            "the page of this finding names it, where the checkpoints can be read. Then "
            "for keys that never come again, joins without a time bound, and windows that "
            "never fire because the watermark does not advance."
        ),
        seen_at_ms=newest.ended_ms,
        evidence=evidence,
        related=(Related("vertex", *largest),) if largest else (),
    )


def _largest(window: JobWindow) -> tuple[str, str] | None:
    """The vertex whose state grows most, else with most state; and words for that."""
    sizes: dict[str, list[tuple[int, int]]] = {}
    for state in window.vertex_states:
        total = sum(size for size in state.subtask_state_bytes if size is not None)
        sizes.setdefault(state.vertex_id, []).append((state.trigger_time_ms, total))
    growth = {
        vertex_id: max(samples)[1] - min(samples)[1]
        for vertex_id, samples in sizes.items()
        if len({at_ms for at_ms, _ in samples}) > 1
    }
    if growth and max(growth.values()) > 0:
        bytes_by_vertex, words = growth, message("grows most")
    else:
        bytes_by_vertex = {vertex_id: max(samples)[1] for vertex_id, samples in sizes.items()}
        words = message("holds most of it")
    if not bytes_by_vertex:
        return None
    vertex_id = min(bytes_by_vertex, key=lambda id: (-bytes_by_vertex[id], id))
    return window.vertex_name(vertex_id), words


def _confidence(trend: SizeTrend) -> Confidence:
    points, slope = trend.points or 0, trend.bytes_per_h_low
    if slope is not None and points >= ENOUGH_POINTS and slope >= (trend.bytes_per_h or 0) / 2:
        return "high"
    return "medium" if slope is not None and points >= ENOUGH_POINTS / 4 else "low"
