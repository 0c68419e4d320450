"""The state backend of a job: its options, and figures of the newest minutes."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from ingest import records
from ingest.flink_rest.payloads.fields import LAST_INSTANT_MS
from ingest.flink_rest.versions import release
from ingest.messages import message
from spark_jobs.diagnosis.fed_vertices import FedSample, UnknownBecause, apart_ms, newest_fed_sample
from spark_jobs.diagnosis.samples import VertexGauges
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import epoch_ms, instant_of
from webapp.lib.recent_answers import end_of_step
from webapp.work.lake import read_newest

PREFIX = "state.backend.rocksdb."
METRIC_NAMES = (
    "is-write-stopped",
    "actual-delayed-write-rate",
    "estimate-pending-compaction-bytes",
    "num-files-at-level",
    "background-errors",
    "cur-size-all-mem-tables",
    "total-sst-files-size",
)
"""The metrics on the page. For each, Flink reads a RocksDB property every few seconds."""
_OPTIONS: Sequence[tuple[tuple[str, ...], str, str]] = (
    (
        ("execution.checkpointing.incremental", "state.backend.incremental"),
        "false",
        message("checkpoints upload new files only"),
    ),
    (
        ("taskmanager.memory.managed.size", "taskmanager.memory.managed.fraction"),
        "0.4",
        message("memory that write buffers and block caches share"),
    ),
    ((f"{PREFIX}memory.managed",), "true", message("RocksDB stays within managed memory")),
    ((f"{PREFIX}memory.fixed-per-slot",), message("not set"), message("instead of managed memory")),
    ((f"{PREFIX}memory.write-buffer-ratio",), "0.5", message("share of it for write buffers")),
    (
        (f"{PREFIX}localdir",),
        message("the working directory of the TaskManager"),
        message("local disks; several spread the load"),
    ),
    ((f"{PREFIX}thread.num",), "2", message("threads for flushes and compactions of a RocksDB")),
    (
        (f"{PREFIX}checkpoint.transfer.thread.num",),
        "4",
        message(
            "threads of a stateful subtask that upload and download files; 1 by default before 1.13"
        ),
    ),
    ((f"{PREFIX}writebuffer.size",), "64 mb", message("a flush makes a file of about this")),
    (
        (f"{PREFIX}compaction.style",),
        "LEVEL",
        message("NONE compacts nothing; FIFO drops old files"),
    ),
    (
        (f"{PREFIX}compaction.filter.periodic-compaction-time",),
        "30 d",
        message("old files are compacted so often, so that what expired goes"),
    ),
    (
        ("execution.state-recovery.from-local", "state.backend.local-recovery"),
        "false",
        message("a copy of state on the local disk for restarts"),
    ),
)
"""(keys, newest first; Flink's default; meaning)"""


@dataclass(frozen=True)
class Option:
    """``value`` is Flink's default unless the cluster sets the option (``is_set``)."""

    key: str
    value: str
    is_set: bool
    meaning: str


def options(configuration: Mapping[str, object] | None) -> list[Option] | None:
    if configuration is None:
        return None
    job_options = []
    for keys, default, meaning in _OPTIONS:
        key = next((key for key in keys if configuration.get(key) is not None), None)
        value = str(configuration[key]) if key else default
        job_options.append(Option(key or keys[0], value, key is not None, meaning))
    return job_options


def metrics_off(configuration: Mapping[str, object] | None) -> list[str]:
    """Options of metrics that are not switched on."""
    values = configuration or {}
    keys = [f"{PREFIX}metrics.{name}" for name in METRIC_NAMES]
    return [key for key in keys if str(values.get(key)).lower() != "true"]


_ON_HEAP = ("hashmap", "fsstate", "memorystate", "heap")


def known_name(text: str | None) -> str | None:
    """A name in REST's answer; None if REST says that the name is unknown."""
    return None if not text or text.lower() == "unknown" else text


def is_rocksdb(state_backend: str | None) -> bool | None:
    """By REST's name of the backend, such as EmbeddedRocksDBStateBackend; None if unknown."""
    name = (known_name(state_backend) or "").lower()
    if "rocksdb" in name:
        return True
    return False if any(heap in name for heap in _ON_HEAP) else None


log = logging.getLogger(__name__)

Rows = list[dict[str, Any]]
"""Samples of one vertex."""
LOOK_BACK = timedelta(minutes=10)
MOST_SAMPLES = 20_000
FIGURES = tuple(
    field.name
    for field in fields(records.VertexGauges)
    if field.name not in ("job_id", "vertex_id", "ts")
)
INPUT_FIGURES = ("input1_watermark_ms", "input2_watermark_ms")
BUFFER_FIGURES = ("debloated_buffer_bytes", "buffers_consumed_in_ms")
EVENT_TIME_FIGURES = ("received_watermark_ms", "sent_watermark_ms")
SOURCE_FIGURES = (
    "alignment_drift_ms",
    "split_paused_ms_per_s",
    "behind_latest_ms",
    "offset_commits",
    "offset_commits_failed",
    "uncommitted_records",
)
ROCKSDB_FIGURES = tuple(
    name
    for name in FIGURES
    if name not in (*INPUT_FIGURES, *BUFFER_FIGURES, *EVENT_TIME_FIGURES, *SOURCE_FIGURES)
)


@dataclass(frozen=True)
class VertexFigures:
    """``newest``: each figure as last reported. ``samples``, ``stalled``: numbers of samples."""

    vertex_id: str
    name: str
    newest: Mapping[str, int | None]
    samples: int
    stalled: int

    def has(self, names: Sequence[str]) -> bool:
        return any(self.newest[name] is not None for name in names)

    @property
    def apart_ms(self) -> int | None:
        """First minus second input's watermark; None if unknown or the slower input is idle."""
        watermarks = {name: self.newest[name] for name in (*INPUT_FIGURES, *EVENT_TIME_FIGURES)}
        return apart_ms(VertexGauges(self.vertex_id, 0, **watermarks))

    @property
    def distance_ms(self) -> int | None:
        return None if self.apart_ms is None else abs(self.apart_ms)


@dataclass(frozen=True)
class Feeder:
    """``behind_ms``: behind the feeder with the greatest watermark; None if unknown."""

    vertex_id: str
    name: str
    sent_watermark_ms: int | None
    behind_ms: int | None

    @property
    def sent_watermark(self) -> datetime | None:
        return _instant(self.sent_watermark_ms)


@dataclass(frozen=True)
class FedVertex:
    """A vertex with several upstream vertices, ``feeders``, and the watermarks that these last sent.
    ``unknown_because``: see ``spark_jobs.diagnosis.fed_vertices``.
    """

    vertex_id: str
    name: str
    unknown_because: UnknownBecause | None
    feeders: Sequence[Feeder]

    @property
    def apart_ms(self) -> int | None:
        return (
            None if self.unknown_because else max(feeder.behind_ms or 0 for feeder in self.feeders)
        )


@dataclass(frozen=True)
class JobBackend:
    """``options``: None if the configuration is unknown. ``vertices``: those with stalls first; None
    without the lake. ``fed``: vertices without reported input watermarks, the farthest apart first.
    """

    backend: str | None
    storage: str | None
    is_rocksdb: bool | None
    is_changelog: bool | None
    options: Sequence[Option] | None
    metrics_off: Sequence[str]
    vertices: Sequence[VertexFigures] | None
    fed: Sequence[FedVertex] = ()
    has_unreported_inputs: bool = False
    """Watermarks of inputs are unknown: the release does not report them, and no feeder was read."""

    def having(self, names: Sequence[str]) -> list[VertexFigures]:
        return [vertex for vertex in self.vertices or () if vertex.has(names)]


def job_backend(job: JobCurrent, at: datetime) -> JobBackend:
    config = job.checkpoint_config or {}
    rows = _rows(job, at)
    names = job.vertex_names
    feeders = _feeders(job)
    fed = _fed_vertices(feeders, names, rows or {})
    unread = {*feeders} - {vertex.vertex_id for vertex in fed} - _reporting_both(rows or {})
    return JobBackend(
        known_name(config.get("state_backend")),
        known_name(config.get("checkpoint_storage")),
        is_rocksdb(config.get("state_backend")),
        config.get("changelog_enabled"),
        options(job.configuration),
        metrics_off(job.configuration),
        None if rows is None else _vertices(rows, names),
        fed,
        (release(job.flink_version) or ())[:1] >= (2,) and bool(unread),
    )


def _feeders(job: JobCurrent) -> dict[str, list[str]]:
    """Vertex with several upstream vertices → their ids."""
    sources_by_target: dict[str, dict[str, None]] = {}
    for edge in job.edges:
        sources_by_target.setdefault(str(edge.get("target")), {})[str(edge.get("source"))] = None
    return {
        target: list(sources) for target, sources in sources_by_target.items() if len(sources) > 1
    }


def _reporting_both(rows: Mapping[str, Rows]) -> set[str]:
    """Vertices that report the watermarks of both inputs."""
    return {
        vertex_id
        for vertex_id, vertex_rows in rows.items()
        if any(all(row[column] is not None for column in INPUT_FIGURES) for row in vertex_rows)
    }


def _fed_vertices(
    feeders: Mapping[str, Sequence[str]], names: Mapping[str, str], rows: Mapping[str, Rows]
) -> list[FedVertex]:
    reporting = _reporting_both(rows)
    vertex_ids = {
        source
        for target, sources in feeders.items()
        if target not in reporting
        for source in (target, *sources)
    }
    samples = {
        vertex_id: [
            VertexGauges(
                vertex_id, epoch_ms(row["ts"]), **{name: row[name] for name in EVENT_TIME_FIGURES}
            )
            for row in rows[vertex_id]
        ]
        for vertex_id in vertex_ids & {*rows}
    }
    newest = [
        fed
        for target, sources in feeders.items()
        if (fed := newest_fed_sample(target, sources, samples))
    ]
    return sorted(
        (_fed_vertex(fed, names) for fed in newest),
        key=lambda vertex: (-(vertex.apart_ms or 0), vertex.name),
    )


def _fed_vertex(fed: FedSample, names: Mapping[str, str]) -> FedVertex:
    greatest = max((sent for sent in fed.sent_ms.values() if sent is not None), default=0)
    feeders = [
        Feeder(
            feeder,
            names.get(feeder, feeder),
            sent,
            None if fed.unknown_because or sent is None else greatest - sent,
        )
        for feeder, sent in fed.sent_ms.items()
    ]
    return FedVertex(
        fed.vertex_id, names.get(fed.vertex_id, fed.vertex_id), fed.unknown_because, feeders
    )


def _rows(job: JobCurrent, at: datetime) -> dict[str, Rows] | None:
    """Samples by vertex and time; None if the lake could not be read."""
    at = end_of_step(at)  # figures arrive shortly after the answer about the job
    columns = ("vertex_id", "ts", *FIGURES)
    try:
        rows, _ = read_newest(
            "vertex_gauges", job.identity, at - LOOK_BACK, at, columns, MOST_SAMPLES
        )
    except Exception:  # The lake may be any storage; the rest of the page is in the database.
        log.exception("Figures of RocksDB of %s on %s could not be read", job.job_id, job.cluster)
        return None
    by_vertex: dict[str, Rows] = {}
    for row in sorted(rows.to_pylist(), key=lambda row: row["ts"]):
        by_vertex.setdefault(row["vertex_id"], []).append(row)
    return by_vertex


def _vertices(rows: Mapping[str, Rows], names: Mapping[str, str]) -> list[VertexFigures]:
    figures = [
        _figures(vertex_id, names.get(vertex_id, vertex_id), vertex_rows)
        for vertex_id, vertex_rows in rows.items()
    ]
    return sorted(figures, key=lambda vertex: (-vertex.stalled, vertex.name))


def _figures(vertex_id: str, name: str, rows: Rows) -> VertexFigures:
    newest = {
        figure: next((row[figure] for row in reversed(rows) if row[figure] is not None), None)
        for figure in FIGURES
    }
    reported = [
        row
        for row in rows
        if row["writes_stopped"] is not None or row["delayed_write_bytes_per_s"] is not None
    ]
    stalled = [row for row in reported if row["writes_stopped"] or row["delayed_write_bytes_per_s"]]
    return VertexFigures(vertex_id, name, newest, len(reported), len(stalled))


def _instant(epoch_ms: int | None) -> datetime | None:
    """None if the instant is unknown or outside the calendar."""
    return (
        instant_of(epoch_ms) if epoch_ms is not None and 0 <= epoch_ms < LAST_INSTANT_MS else None
    )
