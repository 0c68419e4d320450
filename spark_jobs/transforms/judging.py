"""What a Python worker does: job windows out of Arrow, through the rules, sights and judgements back into Arrow.

Executors import this module: nothing but Arrow and the diagnosis core.
"""

import gc
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

import pyarrow as pa

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.findings import Finding, Unknown
from spark_jobs.diagnosis.plain import finding_to_plain, recovery_point_from_plain
from spark_jobs.diagnosis.samples import RecoveryPoint
from spark_jobs.diagnosis.thresholds import Limits
from spark_jobs.diagnosis.window_contents import WINDOW_MS
from spark_jobs.transforms.window_rows import WindowRow, rows_of

logger = logging.getLogger(__name__)

Scoped = Mapping[str, Any]
"""An override: ``key``, ``value``, and where it holds: ``cluster`` and ``job_id``, empty for all."""

_TEXTS = ("rule", "severity", "confidence", "subject_kind", "subject_id", "subject", "title", "cause", "next_step")
_DOCUMENTS = ("evidence", "related", "data")
_INSTANTS = ("window_start_ms", "seen_at_ms", "as_of_ms")

SIGHT = pa.struct([*((name, pa.string()) for name in (*_TEXTS, *_DOCUMENTS)), *((name, pa.int64()) for name in _INSTANTS)])
RUN = pa.struct([("first", pa.int64()), ("last", pa.int64())])
JUDGED = pa.schema(
    [
        *((name, pa.string()) for name in ("cluster", "job_id", "job_name")),
        ("judged_to_ms", pa.int64()),
        ("runs", pa.list_(RUN)),
        ("unknowns", pa.string()),
        ("sights", pa.list_(SIGHT)),
    ]
)
JUDGED_SCHEMA = (
    "cluster string, job_id string, job_name string, judged_to_ms bigint, "
    "runs array<struct<first: bigint, last: bigint>>, unknowns string, sights array<struct<"
    + ", ".join(f"{field.name}: {'bigint' if pa.types.is_int64(field.type) else 'string'}" for field in SIGHT)
    + ">>"
)


@dataclass
class LimitsInForce:
    """The thresholds of each job: the narrowest override wins. Overrides that make no sense are left out, and logged."""

    overrides: InitVar[Sequence[Scoped]]
    _set: dict[tuple[str, str], list[Scoped]] = field(default_factory=dict)
    _of_scope: dict[tuple[str, str], Limits] = field(default_factory=dict)

    def __post_init__(self, overrides: Sequence[Scoped]) -> None:
        for override in overrides:
            self._set.setdefault((override.get("cluster") or "", override.get("job_id") or ""), []).append(override)

    def of(self, cluster: str, job_id: str) -> Limits:
        scope = next((scope for scope in ((cluster, job_id), (cluster, "")) if scope in self._set), ("", ""))
        if scope not in self._of_scope:
            self._of_scope[scope] = self._made(*scope)
        return self._of_scope[scope]

    def _made(self, cluster: str, job_id: str) -> Limits:
        values: dict[str, float] = {}
        for scope in dict.fromkeys((("", ""), (cluster, ""), (cluster, job_id))):
            for override in self._set.get(scope, ()):
                values |= _if_allowed(str(override["key"]), float(override["value"]))
        return registry.limits(values)


def _if_allowed(key: str, value: float) -> dict[str, float]:
    try:
        registry.limits({key: value})
    except ValueError as error:
        logger.warning("A threshold is left out: %s", error)
        return {}
    return {key: value}


def judged_batches(
    batches: Iterable[pa.RecordBatch], overrides: Sequence[Scoped], recovery_points: Sequence[Scoped] = ()
) -> Iterator[pa.RecordBatch]:
    """A batch of ``JUDGED`` for each batch of job windows. A row that cannot be read or written is left out, and logged.

    ``recovery_points`` are what audits of the storage found: the fields of ``RecoveryPoint``, and ``cluster`` and ``job_id``.
    """
    in_force = LimitsInForce(overrides)
    points = {(str(one["cluster"]), str(one["job_id"])): recovery_point_from_plain(one) for one in recovery_points}
    for batch in batches:
        # Samples hold no cycles: looking for some among millions of them took more time than the rules.
        gc.disable()
        try:
            judged = _judged(batch, in_force, points)
        finally:
            gc.enable()
        yield pa.RecordBatch.from_pylist(judged, schema=JUDGED)


def _judged(batch: pa.RecordBatch, in_force: LimitsInForce, points: Mapping[tuple[str, str], RecoveryPoint]) -> list[dict[str, Any]]:
    judged = []
    for row in rows_of(batch):
        if isinstance(row, Exception):
            logger.error("A row of job windows cannot be read", exc_info=row)
            continue
        try:
            judged.append(judged_row(row, in_force.of(row.cluster, row.job_id), points.get((row.cluster, row.job_id))))
        except Exception:
            logger.exception("Job %s of %s cannot be judged", row.job_id, row.cluster)
    return judged


def judged_row(row: WindowRow, in_force: Limits, point: RecoveryPoint | None = None) -> dict[str, Any]:
    """What the rules say of the windows of one row, as a row of ``JUDGED``; those before the audit know nothing of ``point``."""
    sights: dict[tuple[str, str, int], dict[str, Any]] = {}
    unknowns: tuple[Unknown, ...] = ()
    for window in row.windows:
        if point is not None and point.audited_at_ms <= window.at_ms:
            window = replace(window, recovery_point=point)
        said = registry.diagnose(window, in_force)
        unknowns = said.unknowns
        for finding in said.findings:
            # Of one subject a rule says one thing a window; the later one of two would only be an accident.
            sights.setdefault(
                (finding.rule, finding.subject_id, window.window_start_ms), _sight(finding, window.window_start_ms, window.at_ms)
            )
    newest = row.windows[-1]
    return {
        "cluster": row.cluster,
        "job_id": row.job_id,
        "job_name": newest.job_name,
        "judged_to_ms": newest.at_ms,
        "runs": _runs([window.window_start_ms for window in row.windows]),
        "unknowns": _json([{"rule": unknown.rule, "missing": unknown.missing} for unknown in unknowns]),
        "sights": list(sights.values()),
    }


def _sight(finding: Finding, window_start_ms: int, at_ms: int) -> dict[str, Any]:
    plain = finding_to_plain(finding)
    documents = {name: _json(plain[name]) for name in _DOCUMENTS}
    seen_at_ms = min(int(plain["seen_at_ms"]), at_ms)
    instants = {"window_start_ms": window_start_ms, "seen_at_ms": seen_at_ms, "as_of_ms": at_ms}
    return {name: plain[name] for name in _TEXTS} | documents | instants


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=list)


def _runs(starts_ms: Sequence[int]) -> list[dict[str, int]]:
    """Starts in order, neighbours as one run, in epoch s."""
    runs: list[dict[str, int]] = []
    for start in starts_ms:
        if runs and start - 1000 * runs[-1]["last"] == WINDOW_MS:
            runs[-1]["last"] = start // 1000
        else:
            runs.append({"first": start // 1000, "last": start // 1000})
    return runs
