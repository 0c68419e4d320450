"""The state backend of a job: RocksDB by its own metrics, which input the state waits for, and the
relevant options.
"""

from collections.abc import Iterator
from datetime import datetime

from ingest.messages import message
from webapp.analyses.backend.job_backend import (
    OF_BUFFERS,
    OF_INPUTS,
    OF_ROCKSDB,
    FedVertex,
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
    Note,
    NotKnown,
    Table,
    Verdict,
)
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import count_text, duration_text

SHOWN = 50
_DEBLOATS = "taskmanager.network.memory.buffer-debloat.enabled"


@analysis(
    "backend",
    title=message("State backend"),
    summary=message(
        "RocksDB by its own metrics, the input that state waits for, and the options that matter"
    ),
    tab="state",
    in_report=True,
    is_slow=True,
)
def backend(job: JobCurrent, inputs: Inputs) -> Document:
    job_state = job_backend(job, inputs.until)
    return Document(_verdict(job_state), tuple(_blocks(job, job_state)))


def _blocks(job: JobCurrent, job_state: JobBackend) -> Iterator[Block]:
    yield Facts(
        (
            Fact("backend", message("Backend"), job_state.backend),
            Fact("storage", message("Checkpoints in"), job_state.storage),
            Fact("is_rocksdb", message("RocksDB"), job_state.is_rocksdb, "flag"),
            Fact("is_changelog", message("Changelog"), job_state.is_changelog, "flag"),
        )
    )
    if of_rocksdb := job_state.having(OF_ROCKSDB):
        yield _vertices(of_rocksdb)
    off = [metric.key for metric in job_state.native_metrics if not metric.is_on]
    if job_state.is_rocksdb and job_state.options is not None and off:
        yield Note(
            message(
                "These metrics are not switched on in the configuration of the cluster. Each is "
                "read from RocksDB every few seconds; the job shows them after a restart of the "
                "cluster:"
            )
        )
        yield Advice(
            tuple(message("{key:name}: true", key=key) for key in off), message("What is off")
        )
    yield from _inputs(job_state)
    yield from _buffers(job, job_state)
    yield _options(job_state)


def _vertices(shown: list[VertexFigures]) -> Table:
    return Table(
        "vertices",
        message("RocksDB by vertex"),
        (
            Column("vertex", message("Vertex")),
            Column("at", message("Sampled"), "instant"),
            Column(
                "stalled",
                message("Stalled"),
                "count",
                message(
                    "samples of the last ten minutes in which RocksDB stopped or slowed writes"
                ),
            ),
            Column("samples", message("Samples"), "count"),
            Column(
                "writes_stopped",
                message("Stopped"),
                "count",
                message("column families whose writes are stopped now"),
            ),
            Column(
                "level0_files",
                message("Level 0"),
                "count",
                message("of one state, the most: slowed from 20 on, stopped at 36"),
            ),
            Column("flushes_pending", message("Flushes pending"), "count"),
            Column("compactions_pending", message("Compactions pending"), "count"),
            Column("compaction_pending_bytes", message("To compact"), "bytes"),
            Column(
                "block_cache_bytes",
                message("Block cache"),
                "bytes",
                message("in use, of one slot, the most"),
            ),
            Column("block_cache_capacity_bytes", message("Its size"), "bytes"),
            Column("memtable_bytes", message("Write buffers"), "bytes"),
            Column("sst_bytes", message("Files"), "bytes"),
            Column("background_errors", message("Errors"), "count"),
        ),
        tuple(_row(vertex_figures) for vertex_figures in shown[:SHOWN]),
        note=message(
            "As last reported, over all subtasks and states of a vertex. –: that metric is off."
        ),
        total=len(shown),
    )


def _row(vertex_figures: VertexFigures) -> tuple[str | int | datetime | None, ...]:
    of = vertex_figures.newest
    stalled = vertex_figures.stalled if vertex_figures.samples else None
    figures = (
        *(
            "writes_stopped",
            "level0_files",
            "flushes_pending",
            "compactions_pending",
            "compaction_pending_bytes",
        ),
        *(
            "block_cache_bytes",
            "block_cache_capacity_bytes",
            "memtable_bytes",
            "sst_bytes",
            "background_errors",
        ),
    )
    return (
        vertex_figures.name,
        vertex_figures.at,
        stalled,
        vertex_figures.samples,
        *(of[name] for name in figures),
    )


def _inputs(job_state: JobBackend) -> Iterator[Block]:
    of_inputs = sorted(
        job_state.having(OF_INPUTS), key=lambda vertex_figures: -(vertex_figures.distance_ms or 0)
    )
    if of_inputs:
        yield Table.of(
            of_inputs,
            "inputs",
            message("Inputs"),
            (
                Column("vertex", message("Vertex"), value="name"),
                Column("first_watermark", message("First input"), "instant"),
                Column("second_watermark", message("Second input"), "instant"),
                Column("distance_ms", message("Apart"), "ms"),
                Column(
                    "slower",
                    message("Slower"),
                    value=lambda vertex_figures: _slower(vertex_figures.apart_ms),
                ),
            ),
            most=SHOWN,
            subtitle=message(
                "watermarks of vertices with two inputs: what the faster one brings waits in state "
                "for the slower one"
            ),
        )
    if job_state.fed:
        yield Table(
            "fed",
            message("Inputs by what feeds them"),
            (
                Column("vertex", message("Vertex")),
                Column("feeder", message("Fed by")),
                Column("sent_watermark", message("Watermark sent"), "instant"),
                Column("behind_ms", message("Behind the fastest"), "ms"),
                Column("unknown_because", message("Why the distance is unknown")),
            ),
            tuple(
                (
                    vertex.name,
                    feeder.name,
                    feeder.sent_watermark,
                    feeder.behind_ms,
                    _why_unknown(vertex),
                )
                for vertex in job_state.fed[:SHOWN]
                for feeder in vertex.feeders
            ),
            subtitle=message(
                "watermarks that the vertices before a vertex sent on: what the faster one "
                "brings to a join waits in state for the slower one"
            ),
            note=message(
                "Flink 2.0 and later do not report the watermark of each input of an operator "
                "with two. Shown is the lowest watermark that the subtasks of the last "
                "upstream operators sent."
            ),
            total=len(job_state.fed),
        )
    if job_state.has_unreported_inputs:
        yield NotKnown(
            message(
                "Flink 2.0 and later do not report the watermark of each input of an operator "
                "with two: which of them is slower is unknown here. Compare the watermarks of the "
                "vertices before it."
            )
        )


def _slower(apart_ms: int | None) -> str | None:
    if not apart_ms:
        return None
    return message("second") if apart_ms > 0 else message("first")


def _why_unknown(vertex: FedVertex) -> str | None:
    if vertex.unknown_because == "in_flight":
        return message("It has not received what was sent to it: data waits in buffers.")
    if vertex.unknown_because == "marked_idle":
        return message(
            "It does not wait for the slowest input, which is at least partly marked idle."
        )
    if vertex.unknown_because:
        return message(
            "Their distance is unknown: a watermark has not come, its source has ended, or it "
            "is unknown which operator sends it."
        )
    return None


def _buffers(job: JobCurrent, job_state: JobBackend) -> Iterator[Block]:
    yield Note(_debloating(job, job_state))
    if shown := job_state.having(OF_BUFFERS):
        yield Table.of(
            shown,
            "buffers",
            message("Buffers"),
            (
                Column("vertex", message("Vertex"), value="name"),
                Column(
                    "debloated_buffer_bytes",
                    message("Size of a buffer"),
                    "bytes",
                    message("of the subtasks, the least"),
                    value="newest.debloated_buffer_bytes",
                ),
                Column(
                    "buffers_consumed_in_ms",
                    message("Consumed within"),
                    "ms",
                    value="newest.buffers_consumed_in_ms",
                ),
            ),
            most=SHOWN,
            subtitle=message("data in flight, which barriers of aligned checkpoints wait for"),
        )


def _options(job_state: JobBackend) -> Block:
    if job_state.options is None:
        return NotKnown(
            message(
                "The configuration of the cluster is not known. It is read with the first answers "
                "of its JobManager."
            )
        )
    return Table.of(
        job_state.options,
        "options",
        message("Options"),
        (
            Column("key", message("Option"), "mono"),
            Column("value", message("Value")),
            Column("is_set", message("Set"), "flag", message("no: the default")),
            Column("meaning", message("What it does")),
        ),
        subtitle=message(
            "of the cluster's configuration; what the job sets in its code, time-to-live of state "
            "among it, is not reported by Flink"
        ),
    )


def _verdict(job_state: JobBackend) -> Verdict:
    if job_state.is_rocksdb is None:
        return Verdict(
            "unknown",
            message(
                "Whether this job keeps its state in RocksDB is not known: Flink does not name its "
                "backend, or names another one."
            ),
        )
    if not job_state.is_rocksdb:
        return Verdict(
            "ok",
            message(
                "This job does not keep its state in RocksDB: there are no stalls of writes, "
                "flushes or compactions."
            ),
        )
    if job_state.vertices is None:
        return Verdict(
            "unknown", message("Figures of RocksDB could not be read; its options are below.")
        )
    of_rocksdb = job_state.having(OF_ROCKSDB)
    if not of_rocksdb:
        return Verdict(
            "unknown",
            message(
                "RocksDB's own metrics are off, or none was read in these minutes: whether it "
                "stalls is unknown."
            ),
        )
    failed = [
        vertex_figures
        for vertex_figures in of_rocksdb
        if vertex_figures.newest["background_errors"]
    ]
    if failed:
        return Verdict(
            "crit",
            message(
                "Flushes or compactions of {name:name} failed: look at the local disks of its "
                "TaskManagers.",
                name=failed[0].name,
            ),
        )
    stalled = [vertex_figures for vertex_figures in of_rocksdb if vertex_figures.stalled]
    if stalled:
        worst = stalled[0]
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
    if not any(vertex_figures.samples for vertex_figures in of_rocksdb):
        return Verdict(
            "unknown",
            message(
                "Metrics of stalls are off (is-write-stopped, actual-delayed-write-rate): unknown."
            ),
        )
    return Verdict("ok", message("No stall of writes in these minutes."))


def _debloating(job: JobCurrent, job_state: JobBackend) -> str:
    seen = job_state.having(OF_BUFFERS)
    if seen:
        longest = max(
            (vertex_figures.newest["buffers_consumed_in_ms"] or 0 for vertex_figures in seen),
            default=0,
        )
        return message(
            "Buffer debloating is on: what is in flight before a vertex is consumed within "
            "{longest:name} at most. Barriers wait no longer than that for data before them; "
            "taskmanager.network.memory.buffer-debloat.target (1 s by default) sets it.",
            longest=duration_text(longest),
        )
    if str((job.configuration or {}).get(_DEBLOATS) or "").lower() == "true":
        return message(
            "Buffer debloating is set; its figures were not read, so how much it leaves in flight "
            "is not known."
        )
    return message(
        "Buffer debloating is off, or its figures were not read: buffers have their "
        "full size (taskmanager.memory.segment-size, 32 kb by default) however slowly "
        "they are consumed. Where checkpoints wait in alignment, set "
        "taskmanager.network.memory.buffer-debloat.enabled: true (1.14 and later); "
        "what is in flight is then about a second of input."
    )
