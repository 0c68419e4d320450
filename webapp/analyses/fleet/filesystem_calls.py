"""Calls of all jobs to each file system by second, and the load of its NameNodes."""

from collections.abc import Iterator, Sequence

from django.urls import reverse

from ingest.messages import Message, join_messages, message, plural
from spark_jobs.filesystem_calls.namenode_heap import Namespace, small_heap_bytes
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Block,
    Chart,
    Column,
    Document,
    Drawn,
    Fact,
    Facts,
    Inputs,
    Link,
    NotKnown,
    Table,
    Tone,
    Value,
    Verdict,
)
from webapp.analyses.filesystem_calls.fleet_calls import (
    FileSystemCalls,
    FleetCalls,
    NameNodeMemory,
    look_up_fleet_calls,
    namenode_memory,
)
from webapp.charts.filesystem_calls import calls_by_second
from webapp.findings.models import Finding
from webapp.lib.messages.rendering import localised
from webapp.storage.models import JobStorage
from webapp.storage.namenode_findings import open_findings
from webapp.storage.namenodes import NameNode

SHOWN = 50
UNKNOWN_SYSTEM = message("a file system that is not known")
JOBS = message("Jobs")
CLUSTER = message("Cluster")
CALLS = message("Calls")
PER_S = message("Calls a second")


@analysis(
    "filesystem-calls",
    of="fleet",
    title=message("File system calls"),
    summary=message(
        "what checkpoints of all jobs ask of each NameNode, second by second, in their newest ten "
        "minutes"
    ),
    is_slow=True,
)
def filesystem_calls(inputs: Inputs) -> Document:
    fleet_calls, findings = look_up_fleet_calls(inputs.now), open_findings()
    blocks: list[Block] = [
        Chart("seconds", message("Calls by second"), subtitle=message("of each file system"))
    ]
    blocks += [NotKnown(reason) for reason in _unknown(fleet_calls)]
    if findings:
        blocks.append(_findings(findings))
    if fleet_calls.file_systems:
        blocks += [
            _period(fleet_calls),
            _file_systems(fleet_calls.file_systems),
            _together(fleet_calls.file_systems),
        ]
    if fleet_calls.namenodes.known:
        blocks.append(_namenodes(fleet_calls))
    blocks += _memory(fleet_calls)
    if fleet_calls.namenodes.known:
        blocks.append(_kinds(fleet_calls))
    return Document(_verdict(fleet_calls, findings), tuple(blocks))


@filesystem_calls.draws("seconds")
def seconds(inputs: Inputs) -> Drawn:
    fleet_calls = look_up_fleet_calls(inputs.now)
    series = [
        (localised(system.file_system or UNKNOWN_SYSTEM), system.seconds)
        for system in fleet_calls.file_systems
        if any(system.seconds)
    ]
    if not series:
        text = message("No job whose files an audit counted took a checkpoint in these minutes.")
        return Drawn(empty_title=message("No calls are known"), empty_text=text)
    note = message("Calls of each second, a checkpoint's evenly over its duration.")
    return Drawn(calls_by_second(series, fleet_calls.start), note)


def _verdict(fleet_calls: FleetCalls, findings: Sequence[Finding]) -> Verdict:
    if findings:
        tone: Tone = "crit" if findings[0].severity == "critical" else "warn"
        return Verdict(tone, join_messages((findings[0].title, *_worst(fleet_calls)), ". "))
    known = fleet_calls.namenodes.known
    slowest = max(known, key=lambda node: node.most_queue_ms or 0, default=None)
    if slowest is None or slowest.most_queue_ms is None:
        load = message("How long calls wait in the queue of a NameNode is not known.")
        return Verdict("unknown", join_messages((load, *_worst(fleet_calls)), " "))
    load = message(
        "Calls waited {ms:decimal1} ms at most in the queue of the NameNode of {cluster:name}.",
        ms=slowest.most_queue_ms,
        cluster=slowest.cluster,
    )
    return Verdict(
        "warn" if slowest.is_slow else "ok", join_messages((load, *_worst(fleet_calls)), " ")
    )


def _worst(fleet_calls: FleetCalls) -> Iterator[Message]:
    worst = next((system for system in fleet_calls.file_systems if system.peak), None)
    if worst is None:
        return
    yield message(
        "{name:name} had {peak:count} calls in its worst second, of {jobs:message}, against "
        "{per_s:decimal1} calls/s over time.",
        name=worst.file_system or UNKNOWN_SYSTEM,
        peak=worst.peak,
        jobs=plural(len(worst.together), "{count:count} job", "{count:count} jobs together"),
        per_s=worst.per_s,
    )


def _unknown(fleet_calls: FleetCalls) -> Iterator[str]:
    namenodes = fleet_calls.namenodes
    if namenodes.why:
        yield namenodes.why
    elif namenodes.silent:
        yield message(
            "No sample of these minutes from the NameNode of {clusters:names}: see skipped inputs "
            "of the pipeline.",
            clusters=list(namenodes.silent),
        )
    elif not namenodes.known:
        yield message(
            "No NameNode is declared, so its load is unknown. Give its web address on one "
            "cluster that uses it (Clusters, Edit)."
        )
    if uncounted := sum(system.unknown for system in fleet_calls.file_systems):
        yield plural(
            uncounted,
            "{count:count} job is left out: no audit counted its files.",
            "{count:count} jobs are left out: no audit counted their files.",
        )
    if fleet_calls.left_out:
        yield plural(
            fleet_calls.left_out,
            (
                "{count:count} more job took fewer checkpoints in these minutes than those looked "
                "at, and is left out of all figures."
            ),
            (
                "{count:count} more jobs took fewer checkpoints in these minutes than those looked "
                "at, and are left out of all figures."
            ),
        )


def _findings(findings: Sequence[Finding]) -> Table:
    return Table.of(
        findings,
        "findings",
        message("Findings"),
        (
            Column(
                "finding",
                message("Finding"),
                value=lambda finding: Link(finding.title, reverse("finding", args=[finding.pk])),
            ),
            Column("severity", message("Severity")),
            Column("cluster", CLUSTER),
        ),
        subtitle=message("of NameNodes, worst first"),
    )


def _period(fleet_calls: FleetCalls) -> Facts:
    return Facts(
        (
            Fact("start", message("Seconds from"), fleet_calls.start, "instant"),
            Fact("end", message("Newest checkpoint"), fleet_calls.end, "instant"),
        )
    )


def _file_systems(systems: Sequence[FileSystemCalls]) -> Table:
    def row(system_calls: FileSystemCalls) -> tuple[Value, ...]:
        of = (system_calls.file_system or None, system_calls.jobs, system_calls.unknown)
        if not system_calls.peak:
            return (*of, *[None] * 4)
        return (
            *of,
            round(system_calls.per_s, 2),
            round(system_calls.peak),
            system_calls.peak_at,
            len(system_calls.together),
        )

    return Table(
        "file-systems",
        message("File systems"),
        (
            Column("file_system", message("File system"), "mono"),
            Column("jobs", JOBS, "count"),
            Column(
                "uncounted",
                message("Not counted"),
                "count",
                message("jobs whose files no audit counted"),
            ),
            Column("per_s", message("Calls a second over time"), "per_s"),
            Column("peak", message("Calls in the worst second"), "count"),
            Column("peak_at", message("Worst second"), "instant"),
            Column("together", message("Jobs in it"), "count"),
        ),
        tuple(map(row, systems)),
        subtitle=message("worst second first"),
    )


def _together(systems: Sequence[FileSystemCalls]) -> Table:
    rows = [(system, job) for system in systems for job in system.together]
    return Table(
        "together",
        message("Together in the worst second"),
        (
            Column("file_system", message("File system"), "mono"),
            Column("job", message("Job")),
            Column("cluster", CLUSTER),
            Column("calls", CALLS, "count"),
        ),
        tuple(
            (
                system.file_system or None,
                _job_link(job.cluster, job.job_id, job.name),
                job.cluster,
                round(job.calls, 1),
            )
            for system, job in rows[:SHOWN]
        ),
        total=len(rows),
        empty=message("The files of no job are known."),
    )


def _namenodes(fleet_calls: FleetCalls) -> Table:
    def row(node: NameNode) -> tuple[Value, ...]:
        waits = (
            _tenths(node.queue_ms),
            _tenths(node.most_queue_ms),
            _tenths(node.processing_ms),
            node.call_queue_length,
        )
        holds = (
            node.files,
            node.blocks,
            node.under_replicated_blocks,
            node.heap_used_bytes,
            node.heap_max_bytes,
            node.used_bytes,
            node.remaining_bytes,
        )
        return (node.cluster, node.ha_state, *waits, node.per_s, *holds)

    expected = message(
        "Checkpoints of the jobs known here should cost {per_s:decimal1} calls/s. Calls are those "
        "of all clients. Times are means of its own last interval of metrics.",
        per_s=sum(system.per_s for system in fleet_calls.file_systems),
    )
    worst = message("of the samples of these minutes")
    slow = message(
        "If calls wait, every writer waits: reduce the number of files, or move jobs to another "
        "file system."
    )
    is_slow = any(node.is_slow for node in fleet_calls.namenodes.known)
    return Table(
        "namenodes",
        message("NameNodes"),
        (
            Column("cluster", CLUSTER),
            Column("ha_state", message("State")),
            Column("queue_ms", message("Calls wait"), "ms", message("in its queue")),
            Column("most_queue_ms", message("Wait at most"), "ms", worst),
            Column("processing_ms", message("Worked on for"), "ms"),
            Column("call_queue_length", message("Calls that wait"), "count"),
            Column("per_s", PER_S, "per_s"),
            Column("files", message("Files and directories"), "count"),
            Column("blocks", message("Blocks"), "count"),
            Column("under_replicated_blocks", message("Under-replicated"), "count"),
            Column("heap_used_bytes", message("Heap in use"), "binary"),
            Column("heap_max_bytes", message("Heap at most"), "binary"),
            Column("used_bytes", message("Raw bytes used"), "bytes"),
            Column("remaining_bytes", message("Raw bytes free"), "bytes"),
        ),
        tuple(map(row, fleet_calls.namenodes.known)),
        subtitle=message("by their JMX, in the same minutes"),
        note=join_messages((slow, expected), " ") if is_slow else expected,
    )


def _memory(fleet_calls: FleetCalls) -> Iterator[Table]:
    memory = namenode_memory(fleet_calls.namenodes.known)
    if not memory.roots:
        return
    yield _memory_of_roots(memory)
    yield _memory_of_jobs(memory)


HEAP = Column(
    "heap_bytes", message("Heap"), "bytes", message("estimate: 150 bytes a file and a block")
)
BLOCKS_AT_MOST = Column("blocks", message("Blocks at most"), "count", message("of 128 MiB"))


def _memory_of_roots(memory: NameNodeMemory) -> Table:
    share = message(
        "of all files, directories and blocks of its NameNode; its own directories are not counted"
    )
    most = message("its share of the heap in use, which holds more than files and blocks")
    inlined = message("heap of files of at most 1 MiB, which could be inline in the _metadata")
    return Table(
        "memory",
        message("Heap of NameNodes by root"),
        (
            Column("root", message("Root"), "mono"),
            Column("files", message("Files"), "count"),
            BLOCKS_AT_MOST,
            HEAP,
            Column("most_heap_bytes", message("By its share"), "bytes", most),
            Column("sized_bytes", message("Sized"), "bytes", message("1 GB for a million blocks")),
            Column("share", message("Share"), "share", share),
            Column("inlined_bytes", message("Less if inline"), "bytes", inlined),
        ),
        tuple(
            (
                root.root,
                root.namespace.files,
                root.namespace.blocks,
                root.namespace.heap_bytes,
                root.most_heap_bytes,
                root.namespace.sized_heap_bytes,
                root.share,
                root.small_heap_bytes,
            )
            for root in memory.roots
        ),
        subtitle=message("by the newest audits; an estimate, most files first"),
        note=message(
            "150 bytes an object and 1 GB for a million blocks are rules of thumb of Cloudera's "
            "HDFS overview (Disk space versus namespace), no measurements. Files go with file "
            "merging (execution.checkpointing.file-merging.enabled, 1.20 and later), fewer "
            "retained checkpoints (execution.checkpointing.num-retained), and a higher inline "
            "threshold (state.storage.fs.memory-threshold, since 1.20 "
            "execution.checkpointing.data-inline-threshold, at most 1 MiB). What is inline takes "
            "heap of the JobManager instead."
        ),
    )


def _memory_of_jobs(memory: NameNodeMemory) -> Table:
    def row(of: JobStorage) -> tuple[Value, ...]:
        namespace = Namespace(of.files, of.bytes)
        job: Value = of.directory
        if of.cluster and of.job_id:
            job = _job_link(of.cluster, of.job_id, of.job_name or of.job_id)
        small = (of.small_files, small_heap_bytes(of.small_files))
        return (job, of.cluster or None, of.files, namespace.blocks, namespace.heap_bytes, *small)

    return Table(
        "memory-jobs",
        message("Heap of NameNodes by job"),
        (
            Column("job", message("Job")),
            Column("cluster", CLUSTER),
            Column("files", message("Files"), "count"),
            BLOCKS_AT_MOST,
            HEAP,
            Column("small_files", message("Small files"), "count", message("of at most 1 MiB")),
            Column("small_bytes", message("Their heap"), "bytes"),
        ),
        tuple(map(row, memory.jobs)),
        subtitle=message("most files first"),
        total=memory.job_count if memory.job_count > len(memory.jobs) else None,
    )


def _kinds(fleet_calls: FleetCalls) -> Table:
    rows = [
        (node.cluster, kind, per_s)
        for node in fleet_calls.namenodes.known
        for kind, per_s in node.kinds.items()
    ]
    return Table(
        "kinds",
        message("Kinds of calls"),
        (
            Column("cluster", CLUSTER),
            Column("kind", message("Kind of call"), "mono"),
            Column("per_s", PER_S, "per_s"),
        ),
        tuple((*of, round(per_s, 2)) for *of, per_s in rows),
        empty=message("Calls a second are known from two samples of one run of the NameNode on."),
    )


def _job_link(cluster: str, job_id: str, name: str) -> Link:
    return Link(name, reverse("job", args=(cluster, job_id)))


def _tenths(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
