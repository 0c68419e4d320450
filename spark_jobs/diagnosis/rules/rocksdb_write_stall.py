"""RocksDB stalls writes while a write buffer waits for its flush, level 0 has too many files
(slowed from 20 on, stopped at 36 by default), or compactions lag.
"""

from collections.abc import Iterator, Sequence

from ingest.messages import bytes_text, message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits
from spark_jobs.diagnosis.rule import rule, vertex_finding
from spark_jobs.diagnosis.samples import JobWindow, VertexGauges

RULE = "rocksdb.write_stall"
SHARE = 0.5
"""Share of samples with a stall: a single stall during a flush is normal."""
SAMPLES = 3
"""Fewest samples with a stall. If these are the newest ones, ``SHARE`` does not matter."""
LOOK_BACK_MS = 300_000
SLOWED_AT_FILES = 20
"""RocksDB's level0_slowdown_writes_trigger, which Flink leaves as it is."""


@rule(
    RULE,
    message("RocksDB stalls writes"),
    message(
        "RocksDB slows the writes of a vertex down or stops them, or its flushes and compactions "
        "fail."
    ),
    fed_by="incidents/1.20.5/write-stall",
    needs=("gauges",),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    by_vertex: dict[str, list[VertexGauges]] = {}
    for gauge in window.gauges:
        if window.at_ms - LOOK_BACK_MS <= gauge.at_ms <= window.at_ms:
            by_vertex.setdefault(gauge.vertex_id, []).append(gauge)
    for vertex_id, samples in by_vertex.items():
        reports = [
            gauges
            for gauges in samples
            if gauges.writes_stopped is not None or gauges.delayed_write_bytes_per_s is not None
        ]
        stalls = [
            gauges
            for gauges in reports
            if gauges.writes_stopped or gauges.delayed_write_bytes_per_s
        ]
        errors = max((gauges.background_errors or 0 for gauges in samples), default=0)
        is_continuing = all(gauges in stalls for gauges in reports[-SAMPLES:])
        if errors:
            yield _error_finding(window, vertex_id, (stalls or samples)[-1], errors)
        elif len(stalls) >= SAMPLES and (is_continuing or len(stalls) >= SHARE * len(reports)):
            yield _stall_finding(window, vertex_id, len(reports), stalls)


def _error_finding(window: JobWindow, vertex_id: str, newest: VertexGauges, errors: int) -> Finding:
    return vertex_finding(
        window,
        vertex_id,
        RULE,
        "critical",
        "high",
        title=message(
            "RocksDB of {name:name} failed {errors:message}",
            name=window.brief_name(vertex_id),
            errors=plural(
                errors, "{count:count} flush or compaction", "{count:count} flush or compactions"
            ),
        ),
        cause=message(
            "RocksDB reports {errors:number} background errors: its local disk is full or broken.",
            errors=errors,
        ),
        next_step=message(
            "Look at space and errors of the TaskManagers' local disks "
            "(state.backend.rocksdb.localdir)."
        ),
        evidence=(Evidence(message("background errors"), errors, "count"),),
        seen_at_ms=newest.at_ms,
    )


def _stall_finding(
    window: JobWindow, vertex_id: str, sample_count: int, stalled: Sequence[VertexGauges]
) -> Finding:
    newest = stalled[-1]
    why, next_step = _explain(newest)
    return vertex_finding(
        window,
        vertex_id,
        RULE,
        "critical" if newest.writes_stopped else "warning",
        "high",
        title=message(
            "RocksDB {word:message} the writes of {name:name}",
            word=message("stopped") if newest.writes_stopped else message("slows down"),
            name=window.brief_name(vertex_id),
        ),
        cause=message(
            "In {stalled:number} of {known:message} RocksDB stopped writes or slowed them "
            "down. {why:name} Tasks wait inside state access: they count as busy, and "
            "barriers and the synchronous part of checkpoints wait with them.",
            stalled=len(stalled),
            known=plural(sample_count, "{count:count} sample", "{count:count} samples"),
            why=why,
        ),
        next_step=next_step,
        evidence=_evidence(newest, len(stalled) / sample_count),
        seen_at_ms=newest.at_ms,
        data={"stalled": len(stalled)},
    )


def _explain(newest: VertexGauges) -> tuple[str, str]:
    files = newest.level0_files or 0
    if files >= SLOWED_AT_FILES or newest.compactions_pending or newest.compaction_pending_bytes:
        detail = (
            message(": {files:number} files lie in level 0 of one state", files=files)
            if files
            else ""
        )
        return (
            message(
                "Compactions do not keep up with what is flushed{detail:message}.", detail=detail
            ),
            message(
                "Give RocksDB more threads (state.backend.rocksdb.thread.num), larger write "
                "buffers (more managed memory, or state.backend.rocksdb.writebuffer.size) so "
                "that fewer files come, and faster local disks; check the compaction style."
            ),
        )
    return (
        message("Its write buffers fill faster than they are flushed."),
        message(
            "Give RocksDB more managed memory or more and larger write buffers "
            "(state.backend.rocksdb.writebuffer.count and .size), more threads "
            "(state.backend.rocksdb.thread.num) and faster local disks "
            "(state.backend.rocksdb.localdir)."
        ),
    )


def _evidence(newest: VertexGauges, share: float) -> Iterator[Evidence]:
    yield Evidence(message("samples with a stall"), share, "ratio", SHARE, ">=")
    if newest.writes_stopped:
        yield Evidence(
            message("column families whose writes are stopped"), newest.writes_stopped, "count"
        )
    if newest.delayed_write_bytes_per_s:
        yield Evidence(
            message("writes slowed down to"), f"{bytes_text(newest.delayed_write_bytes_per_s)}/s"
        )
