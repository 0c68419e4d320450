"""The operator state of a job grows, or it has very many elements: each has an offset in the
``_metadata`` and on the JobManager's heap.

Operator state is made of lists, without key groups: so that a restore can hand out single elements,
Flink keeps the place of each. Keyed state has no such cost, and REST does not tell one from the
other.
"""

from collections.abc import Iterator

from ingest.messages import brief, bytes_text, list_text, message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Severity
from spark_jobs.diagnosis.operator_growth import OFFSET_BYTES, Growth, growth
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, OperatorStateTrend, StorageJobSample
from spark_jobs.diagnosis.subjects import stored_job_finding
from spark_jobs.diagnosis.thresholds import Limits, Threshold

RULE = "state.operator_growth"
RATIO = f"{RULE}.ratio"
ELEMENTS = f"{RULE}.least_elements"
BYTES = f"{RULE}.least_bytes"
MANY = f"{RULE}.many_elements"
VERY_MANY = 10


@rule(
    RULE,
    message("Operator state grows"),
    message(
        "Lists of an operator (its operator state) multiplied since an earlier checkpoint, or "
        "have at least a million elements."
    ),
    fed_by="incidents/1.20.5/growing-union",
    hold_s=TWO_DAYS_S,
    judges=StorageJobSample,
    thresholds=(
        Threshold(
            RATIO,
            2,
            "times",
            1.1,
            1_000_000,
            message(
                "The number of source offsets and broadcast rules stays the same while the "
                "number of subtasks does; twice as many is a trend."
            ),
        ),
        Threshold(
            ELEMENTS,
            10_000,
            "elements",
            1,
            1_000_000_000,
            message(
                "Ten thousand offsets are 80 kB of each _metadata: below that growth costs nothing "
                "yet."
            ),
        ),
        Threshold(
            BYTES,
            1 << 20,
            "bytes",
            1,
            1 << 50,
            message("A restore reads less than this in the time that it takes to open the files."),
        ),
        Threshold(
            MANY,
            1_000_000,
            "elements",
            100,
            1_000_000_000_000,
            message(
                "A million elements are 8 MB of offsets, which the JobManager receives, keeps and "
                "writes for every checkpoint."
            ),
        ),
    ),
)
def judge(sample: StorageJobSample, limits: Limits) -> Iterator[Finding]:
    if sample.ended:
        return
    notable = [(state, growth(state)) for state in sample.operator_states]
    notable = [
        (trend, grown)
        for trend, grown in notable
        if _has_many(trend, limits) or _grows(trend, grown, limits)
    ]
    if not notable:
        return
    worst, grown = max(
        notable, key=lambda pair: (pair[0].newest.elements, pair[0].newest.operator_bytes)
    )
    newest, grew = worst.newest, _grows(worst, grown, limits)
    severe = newest.elements >= VERY_MANY * limits[MANY] or (
        grew and grown is not None and grown.restores > 0
    )
    severity: Severity = "warning" if severe else "info"
    yield stored_job_finding(
        sample,
        RULE,
        severity,
        title=_title(worst, grown if grew else None),
        cause=_cause(worst, grown if grew else None),
        next_step=message(
            "The page Recovery of the job shows how its operator state grew and what a "
            "restore reads of it. In initializeState, take only the elements of the own "
            "subtask from a union list. In snapshotState, clear a list before you fill it. "
            "Move elements that belong to keys into keyed state, and combine many small "
            "elements into few larger ones. To remove existing elements, restore the fixed "
            "function from a savepoint."
        ),
        evidence=tuple(_evidence(worst, grown, limits, sample.audited_at_ms)),
        data={
            "operator_id": worst.operator_id,
            "elements": newest.elements,
            "operator_bytes": newest.operator_bytes,
        }
        | ({"ratio": grown.ratio, "restores": grown.restores} if grown else {}),
    )


def _has_many(trend: OperatorStateTrend, limits: Limits) -> bool:
    return trend.newest.elements >= limits[MANY]


def _grows(trend: OperatorStateTrend, grown: Growth | None, limits: Limits) -> bool:
    is_much = (
        trend.newest.elements >= limits[ELEMENTS] or trend.newest.operator_bytes >= limits[BYTES]
    )
    return grown is not None and is_much and grown.ratio >= limits[RATIO]


def _title(trend: OperatorStateTrend, grown: Growth | None) -> str:
    name, newest = brief(trend.name or trend.operator_id), trend.newest
    if grown:
        return message(
            "Operator state of {name:name} grew × {ratio:decimal1}, to {elements:count} elements "
            "and {operator_bytes:bytes}",
            name=name,
            ratio=grown.ratio,
            elements=newest.elements,
            operator_bytes=newest.operator_bytes,
        )
    return message(
        "Operator state of {name:name} has {elements:count} elements",
        name=name,
        elements=newest.elements,
    )


def _cause(trend: OperatorStateTrend, grown: Growth | None) -> str:
    lists = list_text(
        message(
            "{name:name} ({replace:name}, {elements:count} elements)",
            name=name,
            replace=mode.lower().replace("_", " "),
            elements=elements,
        )
        for name, mode, elements in trend.states
    )
    of = message(" Its lists: {lists:message}.", lists=lists) if lists else ""
    if grown and grown.restores:
        return message(
            "Its union elements were multiplied by its {subtasks:number} subtasks "
            "{restores:message}, as by a restore after which every subtask keeps, and "
            "writes again, the elements of all.{of:message}",
            subtasks=grown.newest.subtasks,
            restores=plural(grown.restores, "{count:count} time", "{count:count} times"),
            of=of,
        )
    if grown:
        return message(
            "More is put into its lists than is taken out, while it has as many subtasks as "
            "before.{of:message}",
            of=of,
        )
    return message(
        "Each element is stored with its offset, {offset_bytes:number} bytes, which the "
        "JobManager receives with every checkpoint.{of:message}",
        offset_bytes=OFFSET_BYTES,
        of=of,
    )


def _evidence(
    trend: OperatorStateTrend, grown: Growth | None, limits: Limits, at_ms: int
) -> Iterator[Evidence]:
    newest = trend.newest
    offsets = bytes_text(newest.elements * OFFSET_BYTES)
    yield limits.compared(
        message("elements"),
        newest.elements,
        "count",
        ">=",
        MANY,
        at_ms,
        message("{offsets:name} of offsets in each checkpoint", offsets=offsets),
    )
    yield limits.compared(
        message("operator state"),
        newest.operator_bytes,
        "bytes",
        ">=",
        BYTES,
        at_ms,
        plural(trend.files, "{count:count} file", "{count:count} files"),
    )
    if grown:
        then = message(
            "checkpoint {checkpoint_id:name}: {elements:count} elements, {operator_bytes:bytes}",
            checkpoint_id=str(grown.since.checkpoint_id),
            elements=grown.since.elements,
            operator_bytes=grown.since.operator_bytes,
        )
        yield limits.compared(
            message("growth"), grown.ratio, "times", ">=", RATIO, grown.since.at_ms, then
        )
    yield Evidence(
        message("keyed state of the same operator"), newest.keyed_bytes, "bytes", at_ms=at_ms
    )
    if newest.union_elements:
        handed = newest.union_elements * newest.subtasks
        yield Evidence(
            message("elements a restore hands out"),
            handed,
            "count",
            at_ms=at_ms,
            note=message(
                "to {subtasks:count} subtasks, each all of them", subtasks=newest.subtasks
            ),
        )
