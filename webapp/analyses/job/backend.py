from collections.abc import Iterator, Mapping

from ingest.messages import message
from webapp.analyses.backend.job_backend import (
    INPUT_FIGURES,
    ROCKSDB_FIGURES,
    JobBackend,
    VertexFigures,
    job_backend,
)
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Advice,
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    NotKnown,
    Table,
    Verdict,
)
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import count_text

MOST_SHOWN = 50
WHY_UNKNOWN: Mapping[str | None, str] = {
    "in_flight": message("It has not received what was sent to it: data waits in buffers."),
    "marked_idle": message(
        "It does not wait for the slowest input, which is at least partly marked idle."
    ),
    "no_watermark": message(
        "A watermark has not come, its source has ended, or it is unknown which operator sends it."
    ),
}


@analysis(
    "backend",
    title="State backend",
    summary="RocksDB by its own metrics, the input that state waits for, and the options that matter",
    tab="state",
    in_report=True,
    is_slow=True,
)
def backend(job: JobCurrent, inputs: Inputs) -> Document:
    backend = job_backend(job, inputs.until)
    return Document(_verdict(backend), tuple(_blocks(backend)))


def _blocks(backend: JobBackend) -> Iterator[Block]:
    yield Facts(
        (
            Fact("backend", "Backend", backend.backend),
            Fact("storage", "Checkpoints in", backend.storage),
            Fact("is_rocksdb", "RocksDB", backend.is_rocksdb, "flag"),
            Fact("is_changelog", "Changelog", backend.is_changelog, "flag"),
        )
    )
    if vertices := backend.having(ROCKSDB_FIGURES):
        yield _vertices(vertices)
    if backend.is_rocksdb and backend.options is not None and backend.metrics_off:
        yield Advice(
            (
                message(
                    "RocksDB is read for each of these every few seconds. The job shows them after "
                    "a restart of the cluster."
                ),
                *(message("{key:name}: true", key=key) for key in backend.metrics_off),
            ),
            "Metrics that are off",
        )
    yield from _inputs(backend)
    yield _options(backend)


def _vertices(vertices: list[VertexFigures]) -> Table:
    return Table.of(
        vertices,
        "vertices",
        "RocksDB by vertex",
        (
            Column("vertex", "Vertex", value="name"),
            Column(
                "stalled",
                "Stalled",
                "count",
                "samples of the last ten minutes in which RocksDB stopped or slowed writes",
                lambda vertex: vertex.stalled if vertex.samples else None,
            ),
            Column("samples", "Samples", "count"),
            Column(
                "writes_stopped",
                "Stopped",
                "count",
                "column families whose writes are stopped now",
                "newest.writes_stopped",
            ),
            Column(
                "level0_files",
                "Level 0",
                "count",
                "of one state, the most: slowed from 20 on, stopped at 36",
                "newest.level0_files",
            ),
            Column(
                "compaction_pending_bytes",
                "To compact",
                "bytes",
                value="newest.compaction_pending_bytes",
            ),
            Column("memtable_bytes", "Write buffers", "bytes", value="newest.memtable_bytes"),
            Column("sst_bytes", "Files", "bytes", value="newest.sst_bytes"),
            Column("background_errors", "Errors", "count", value="newest.background_errors"),
        ),
        most=MOST_SHOWN,
        note="As last reported, over all subtasks and states of a vertex. –: that metric is off.",
    )


def _inputs(backend: JobBackend) -> Iterator[Block]:
    vertices = sorted(backend.having(INPUT_FIGURES), key=lambda vertex: -(vertex.distance_ms or 0))
    if vertices:
        yield Table.of(
            vertices,
            "inputs",
            "Inputs",
            (
                Column("vertex", "Vertex", value="name"),
                Column("distance_ms", "Apart", "ms"),
                Column("slower", "Slower", value=_slower),
            ),
            most=MOST_SHOWN,
            subtitle=(
                "watermarks of vertices with two inputs: what the faster one brings waits in state "
                "for the slower one"
            ),
        )
    if backend.fed:
        yield Table.of(
            [(vertex, feeder) for vertex in backend.fed[:MOST_SHOWN] for feeder in vertex.feeders],
            "fed",
            "Inputs by what feeds them",
            (
                Column("vertex", "Vertex", value=lambda pair: pair[0].name),
                Column("feeder", "Fed by", value=lambda pair: pair[1].name),
                Column(
                    "sent_watermark",
                    "Watermark sent",
                    "instant",
                    value=lambda pair: pair[1].sent_watermark,
                ),
                Column(
                    "behind_ms",
                    "Behind the fastest",
                    "ms",
                    value=lambda pair: pair[1].behind_ms,
                ),
                Column(
                    "unknown_because",
                    "Why the distance is unknown",
                    value=lambda pair: WHY_UNKNOWN.get(pair[0].unknown_because),
                ),
            ),
            subtitle=(
                "watermarks that the vertices before a vertex sent on: what the faster one "
                "brings to a join waits in state for the slower one"
            ),
            note=(
                "Flink 2.0 and later do not report the watermark of each input of an operator "
                "with two. Shown is the lowest watermark that the subtasks of the last "
                "upstream operators sent."
            ),
        )
    if backend.has_unreported_inputs:
        yield NotKnown(
            "Flink 2.0 and later do not report the watermark of each input of an operator "
            "with two: which of them is slower is unknown here. Compare the watermarks of the "
            "vertices before it."
        )


def _slower(vertex: VertexFigures) -> str | None:
    if not vertex.apart_ms:
        return None
    return message("second") if vertex.apart_ms > 0 else message("first")


def _options(backend: JobBackend) -> Block:
    if backend.options is None:
        return NotKnown(
            "The configuration of the cluster is not known. It is read with the first answers "
            "of its JobManager."
        )
    return Table.of(
        backend.options,
        "options",
        "Options",
        (
            Column("key", "Option", "mono"),
            Column("value", "Value"),
            Column("is_set", "Set", "flag", "no: the default"),
            Column("meaning", "What it does"),
        ),
        subtitle=(
            "of the cluster's configuration; what the job sets in its code, time-to-live of state "
            "among it, is not reported by Flink"
        ),
    )


def _verdict(backend: JobBackend) -> Verdict:
    if backend.is_rocksdb is None:
        return Verdict(
            "unknown",
            (
                "Whether this job keeps its state in RocksDB is not known: Flink does not name its "
                "backend, or names another one."
            ),
        )
    if not backend.is_rocksdb:
        return Verdict(
            "ok",
            (
                "This job does not keep its state in RocksDB: there are no stalls of writes, flushes "
                "or compactions."
            ),
        )
    if backend.vertices is None:
        return Verdict("unknown", "Figures of RocksDB could not be read; its options are below.")
    vertices = backend.having(ROCKSDB_FIGURES)
    for vertex in vertices:
        if vertex.newest["background_errors"]:
            return Verdict(
                "crit",
                message(
                    "Flushes or compactions of {name:name} failed: look at the local disks of its "
                    "TaskManagers.",
                    name=vertex.name,
                ),
            )
    worst = vertices[0] if vertices else None
    if worst and worst.stalled:
        return Verdict(
            "warn",
            message(
                "RocksDB stopped or slowed the writes of {name:name} in {stalled:name} of "
                "{samples:name} samples.",
                name=worst.name,
                stalled=count_text(worst.stalled),
                samples=count_text(worst.samples),
            ),
        )
    if not any(vertex.samples for vertex in vertices):
        return Verdict(
            "unknown",
            (
                "RocksDB's own metrics of stalls are off, or none was read in these minutes: whether it "
                "stalls is unknown."
            ),
        )
    return Verdict("ok", "No stall of writes in these minutes.")
