"""What a Python worker does: jobs out of Arrow, through :mod:`spark_jobs.fold`, results back into Arrow.

Executors import this module: nothing but Arrow, the fold and the diagnosis core.
"""

import gc
import logging
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import pyarrow as pa

from spark_jobs.fold.job import JobNews, JobResult, fold
from spark_jobs.fold.judging import DOCUMENTS, INSTANTS, TEXTS, Settings
from spark_jobs.fold.state import unpacked
from spark_jobs.serving import CHECKPOINT_FACT, JOB_ANNOTATION, JOB_CURRENT, SIZE_TREND, Kind, ServingTable
from spark_jobs.transforms.plain_rows import plain

logger = logging.getLogger(__name__)

JOB = ("cluster", "job_id")
ERROR_CHARS = 500

_ARROW_OF_KIND: dict[Kind, pa.DataType] = {
    "text": pa.string(), "int": pa.int64(), "real": pa.float64(), "flag": pa.bool_(), "instant": pa.int64(), "json": pa.string(),
}  # fmt: skip
_DDL_OF_KIND: dict[Kind, str] = {
    "text": "string", "int": "bigint", "real": "double", "flag": "boolean", "instant": "bigint", "json": "string",
}  # fmt: skip


def _struct(table: ServingTable) -> tuple[pa.DataType, str]:
    """The columns of a table without cluster and job, instants as epoch milliseconds: for Arrow and for Spark."""
    columns = [column for column in table.columns if column.name not in JOB]
    kind = pa.struct([(column.name, _ARROW_OF_KIND[column.kind]) for column in columns])
    return kind, "struct<" + ", ".join(f"`{column.name}`: {_DDL_OF_KIND[column.kind]}" for column in columns) + ">"


_SIGHT = [(name, pa.string()) for name in ("job_name", *TEXTS, *DOCUMENTS)] + [(name, pa.int64()) for name in INSTANTS]
_SIGHT_DDL = "struct<" + ", ".join(f"`{name}`: {'bigint' if kind == pa.int64() else 'string'}" for name, kind in _SIGHT) + ">"
_JUDGEMENT = pa.struct(
    [("judged_to", pa.int64()), ("windows", pa.string()), ("unknowns", pa.string()), ("sights", pa.list_(pa.struct(_SIGHT)))]
)
_JUDGEMENT_DDL = f"struct<judged_to: bigint, windows: string, unknowns: string, sights: array<{_SIGHT_DDL}>>"
_TABLES = {"facts": CHECKPOINT_FACT, "annotations": JOB_ANNOTATION, "current": JOB_CURRENT, "trend": SIZE_TREND}
_MANY = ("facts", "annotations")

FOLDED = pa.schema(
    [
        *((name, pa.string()) for name in JOB),
        *((name, pa.list_(_struct(table)[0]) if name in _MANY else _struct(table)[0]) for name, table in _TABLES.items()),
        ("judgement", _JUDGEMENT),
        ("state", pa.binary()),
        ("error", pa.string()),
        ("observed_at", pa.int64()),
    ]
)
"""``error``: why a job could not be folded, as of ``observed_at``; its other columns are empty then, its state is that of before."""
FOLDED_SCHEMA = ", ".join(
    (
        *(f"{name} string" for name in JOB),
        *(f"{name} array<{_struct(table)[1]}>" if name in _MANY else f"{name} {_struct(table)[1]}" for name, table in _TABLES.items()),
        f"judgement {_JUDGEMENT_DDL}",
        "state binary",
        "error string",
        "observed_at bigint",
    )
)

_PARTS = tuple(field.name for field in fields(JobNews) if field.name not in JOB)


def folded_batches(batches: Iterable[pa.RecordBatch], settings: Settings) -> Iterator[pa.RecordBatch]:
    """A batch of ``FOLDED`` for each batch of nested jobs. A job that cannot be folded stops only itself."""
    for batch in batches:
        # Rows hold no cycles: looking for some among millions of them took more time than the rules.
        gc.disable()
        try:
            jobs = list(jobs_of(batch))
            yield _arrow([(job, _folded(job, settings)) for job in jobs])
        finally:
            gc.enable()


def _arrow(folded: list[tuple[dict[str, Any], dict[str, Any]]]) -> pa.RecordBatch:
    try:
        return pa.RecordBatch.from_pylist([row for _, row in folded], schema=FOLDED)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        # Something in them fits no column: found by trying one after the other.
        return pa.RecordBatch.from_pylist([_fitting(job, row) for job, row in folded], schema=FOLDED)


def _fitting(job: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    try:
        pa.RecordBatch.from_pylist([row], schema=FOLDED)
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        return _failed(job, error)
    return row


def jobs_of(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Nested jobs as plain rows."""
    columns = {name: plain(batch.column(place)) for place, name in enumerate(batch.schema.names)}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def fold_job(job: dict[str, Any], settings: Settings) -> JobResult:
    parts = {name: job[name] or () for name in _PARTS if name in job}
    if not job["is_partial"]:
        parts["touched"] = None
    return fold(JobNews(job["cluster"], job["job_id"], **parts), unpacked(job["state"]), settings)


def _folded(job: dict[str, Any], settings: Settings) -> dict[str, Any]:
    try:
        result = fold_job(job, settings)
        return {
            **{name: job[name] for name in JOB},
            "facts": result.facts,
            "annotations": result.annotations,
            "current": result.current,
            "trend": result.trend,
            "judgement": result.judgement,
            "state": result.state.packed(),
        }
    except Exception as error:
        return _failed(job, error)


def _failed(job: dict[str, Any], error: Exception) -> dict[str, Any]:
    logger.error("Job %s of %s cannot be folded", job["job_id"], job["cluster"], exc_info=error)
    seen = [row["observed_at"] for name in ("answers", "events", "checkpoints") for row in job.get(name) or ()]
    text = f"{type(error).__name__}: {error}"[:ERROR_CHARS]
    return {**{name: job[name] for name in JOB}, "state": job["state"], "error": text, "observed_at": max(seen, default=0)}
