"""The state backend of one job as page, API and command show it."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from ingest.flink_rest.payloads.fields import LAST_INSTANT_MS
from ingest.flink_rest.versions import release
from spark_jobs.diagnosis.rules.join_slow_input import apart_ms
from spark_jobs.diagnosis.samples import VertexGauges
from webapp.backend.options import NativeMetric, Option, is_rocksdb, named, native_metrics, options
from webapp.fleet.models import JobCurrent
from webapp.lib.recent_answers import end_of_step
from webapp.work.lake import read_newest

log = logging.getLogger(__name__)

LOOK_BACK = timedelta(minutes=10)
MOST_SAMPLES = 20_000
FIGURES = tuple(one.name for one in fields(VertexGauges) if one.name not in ("vertex_id", "at_ms"))
OF_INPUTS = ("input1_watermark_ms", "input2_watermark_ms")
OF_BUFFERS = ("debloated_buffer_bytes", "buffers_consumed_in_ms")
OF_ROCKSDB = tuple(name for name in FIGURES if name not in (*OF_INPUTS, *OF_BUFFERS))


@dataclass(frozen=True)
class VertexFigures:
    """``newest``: each figure as last reported. ``samples`` in the look-back that tell of stalls, ``stalled`` of them with one."""

    vertex_id: str
    name: str
    at: datetime
    newest: Mapping[str, int | None]
    samples: int
    stalled: int

    def has(self, names: Sequence[str]) -> bool:
        return any(self.newest[name] is not None for name in names)

    @property
    def first_watermark(self) -> datetime | None:
        return _instant(self.newest["input1_watermark_ms"])

    @property
    def second_watermark(self) -> datetime | None:
        return _instant(self.newest["input2_watermark_ms"])

    @property
    def apart_ms(self) -> int | None:
        """By how much the watermark of the first input is ahead of that of the second."""
        return apart_ms(VertexGauges(self.vertex_id, 0, self.newest["input1_watermark_ms"], self.newest["input2_watermark_ms"]))

    @property
    def distance_ms(self) -> int | None:
        return None if self.apart_ms is None else abs(self.apart_ms)


@dataclass(frozen=True)
class JobBackend:
    """``backend``, ``storage``: as Flink names them. ``options`` None where the configuration is not known. ``vertices`` None where
    the lake could not be read; those with stalls first."""

    backend: str | None
    storage: str | None
    is_rocksdb: bool | None
    is_changelog: bool | None
    options: Sequence[Option] | None
    native_metrics: Sequence[NativeMetric]
    vertices: Sequence[VertexFigures] | None
    has_unreported_inputs: bool = False
    """It has vertices with two inputs, and its release does not report the watermark of each."""

    def having(self, names: Sequence[str]) -> list[VertexFigures]:
        return [one for one in self.vertices or () if one.has(names)]


def job_backend(job: JobCurrent, at: datetime) -> JobBackend:
    """Figures of the ten minutes up to ``at``, at most."""
    config = job.checkpoint_config or {}
    return JobBackend(
        named(config.get("state_backend")),
        named(config.get("checkpoint_storage")),
        is_rocksdb(config.get("state_backend")),
        config.get("changelog_enabled"),
        options(job.configuration),
        native_metrics(job.configuration),
        _vertices(job, at),
        (release(job.flink_version) or ())[:1] >= (2,) and _has_two_inputs(job),
    )


def _has_two_inputs(job: JobCurrent) -> bool:
    targets = Counter(one.get("target") for one in (job.graph or {}).get("edges") or ())
    return any(inputs > 1 for inputs in targets.values())


def _vertices(job: JobCurrent, at: datetime) -> list[VertexFigures] | None:
    at = end_of_step(at)  # figures come some moments after the answer about the job itself
    where = {"cluster": job.cluster, "job_id": job.job_id}
    columns = ("vertex_id", "ts", *FIGURES)
    try:
        rows, _ = read_newest("vertex_gauges", where, at - LOOK_BACK, at, columns, MOST_SAMPLES)
    except Exception:  # The lake may be any storage, with any error; the rest of the page is in the database.
        log.exception("Figures of RocksDB of %s on %s could not be read from the lake", job.job_id, job.cluster)
        return None
    names = {one["vertex_id"]: one.get("name") for one in (job.graph or {}).get("vertices") or ()}
    seen: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rows.to_pylist(), key=lambda row: row["ts"]):
        seen.setdefault(row["vertex_id"], []).append(row)
    found = [_figures(vertex_id, names.get(vertex_id) or vertex_id, of_vertex) for vertex_id, of_vertex in seen.items()]
    return sorted(found, key=lambda one: (-one.stalled, one.name))


def _figures(vertex_id: str, name: str, rows: Sequence[Mapping[str, Any]]) -> VertexFigures:
    newest = {figure: next((row[figure] for row in reversed(rows) if row[figure] is not None), None) for figure in FIGURES}
    told = [row for row in rows if row["writes_stopped"] is not None or row["delayed_write_bytes_per_s"] is not None]
    stalled = [row for row in told if row["writes_stopped"] or row["delayed_write_bytes_per_s"]]
    return VertexFigures(vertex_id, name, rows[-1]["ts"], newest, len(told), len(stalled))


def _instant(epoch_ms: int | None) -> datetime | None:
    """None also for what no calendar holds."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC) if epoch_ms is not None and 0 <= epoch_ms < LAST_INSTANT_MS else None
