from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import cycle

from django.urls import reverse

from ingest.messages import Message, join_messages, message, plural
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Block,
    Chart,
    Column,
    Document,
    Drawn,
    Inputs,
    Link,
    NotKnown,
    Table,
    Tone,
    Verdict,
)
from webapp.analyses.filesystem_calls.fleet_calls import (
    SECONDS,
    FileSystemCalls,
    FleetCalls,
    RootMemory,
    look_up_fleet_calls,
    roots_memory,
)
from webapp.analyses.links import job_link
from webapp.charts.over_time import COLOURS, Line, lines
from webapp.findings.models import Finding
from webapp.lib.messages.rendering import localised
from webapp.storage.namenode_findings import open_findings

MOST_ROWS = 50
UNKNOWN_SYSTEM = message("a file system that is not known")
CLUSTER = Column("cluster", "Cluster")
FILE_SYSTEM = Column(
    "file_system", "File system", "mono", value=lambda system: system.file_system or None
)


@analysis(
    "filesystem-calls",
    subject="fleet",
    title="File system calls",
    summary=(
        "what checkpoints of all jobs ask of each NameNode, second by second, in their newest ten "
        "minutes"
    ),
    is_slow=True,
)
def filesystem_calls(inputs: Inputs) -> Document:
    fleet, findings = look_up_fleet_calls(inputs.now), open_findings()
    blocks: list[Block] = [Chart("seconds", "Calls by second", subtitle="of each file system")]
    blocks += [NotKnown(reason) for reason in _unknowns(fleet)]
    if findings:
        blocks.append(_findings(findings))
    if fleet.file_systems:
        blocks += [_file_systems(fleet.file_systems), _busy_jobs(fleet.file_systems)]
    if fleet.namenodes.known:
        blocks.append(_namenodes(fleet))
    if roots := roots_memory(fleet.namenodes.known):
        blocks.append(_memory(roots))
    return Document(_verdict(fleet, findings), tuple(blocks))


@filesystem_calls.draws("seconds")
def seconds(inputs: Inputs) -> Drawn:
    fleet = look_up_fleet_calls(inputs.now)
    systems = [system for system in fleet.file_systems if any(system.seconds)]
    if not systems:
        text = message("No job whose files an audit counted took a checkpoint in these minutes.")
        return Drawn(empty_title=message("No calls are known"), empty_text=text)
    instants = [fleet.start + timedelta(seconds=second) for second in range(SECONDS)]
    line_per_system = [
        Line(
            localised(system.file_system or UNKNOWN_SYSTEM),
            list(zip(instants, system.seconds, strict=True)),
            colour,
            steps=True,
        )
        for system, colour in zip(systems, cycle(COLOURS), strict=False)
    ]
    note = message("Calls of each second, a checkpoint's evenly over its duration.")
    figure = lines(line_per_system, instants[0], instants[-1], tickformat=",d", rangemode="tozero")
    return Drawn(figure, note)


def _verdict(fleet: FleetCalls, findings: Sequence[Finding]) -> Verdict:
    if findings:
        tone: Tone = "crit" if findings[0].severity == "critical" else "warn"
        return Verdict(tone, join_messages((findings[0].title, *_worst_second(fleet)), ". "))
    known = fleet.namenodes.known
    slowest = max(known, key=lambda node: node.most_queue_ms or 0, default=None)
    if slowest is None or slowest.most_queue_ms is None:
        load = message("How long calls wait in the queue of a NameNode is not known.")
        return Verdict("unknown", join_messages((load, *_worst_second(fleet)), " "))
    load = message(
        "Calls waited {ms:decimal1} ms at most in the queue of the NameNode of {cluster:name}.",
        ms=slowest.most_queue_ms,
        cluster=slowest.cluster,
    )
    return Verdict(
        "warn" if slowest.is_slow else "ok", join_messages((load, *_worst_second(fleet)), " ")
    )


def _worst_second(fleet: FleetCalls) -> Iterator[Message]:
    """One sentence, or none if no calls are known."""
    worst = next((system for system in fleet.file_systems if system.peak), None)
    if worst is None:
        return
    yield message(
        "{name:name} had {peak:count} calls in its worst second, of {jobs:message}, against "
        "{per_s:decimal1} calls/s on average.",
        name=worst.file_system or UNKNOWN_SYSTEM,
        peak=worst.peak,
        jobs=plural(len(worst.busy_jobs), "{count:count} job", "{count:count} jobs together"),
        per_s=worst.per_s,
    )


def _unknowns(fleet: FleetCalls) -> Iterator[str]:
    namenodes = fleet.namenodes
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
    if uncounted := sum(system.uncounted for system in fleet.file_systems):
        yield plural(
            uncounted,
            "{count:count} job is left out: no audit counted its files.",
            "{count:count} jobs are left out: no audit counted their files.",
        )
    if fleet.left_out:
        yield plural(
            fleet.left_out,
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
        "Findings",
        (
            Column(
                "finding",
                "Finding",
                value=lambda finding: Link(finding.title, reverse("finding", args=[finding.pk])),
            ),
            Column("severity", "Severity"),
            CLUSTER,
        ),
        subtitle="of NameNodes, worst first",
    )


def _file_systems(systems: Sequence[FileSystemCalls]) -> Table:
    return Table.of(
        systems,
        "file-systems",
        "File systems",
        (
            FILE_SYSTEM,
            Column("jobs", "Jobs", "count"),
            Column(
                "uncounted",
                "Not counted",
                "count",
                "jobs whose files no audit counted",
            ),
            Column(
                "per_s",
                "Calls a second on average",
                "per_s",
                value=lambda system: round(system.per_s, 2) if system.peak else None,
            ),
            Column(
                "peak",
                "Calls in the worst second",
                "count",
                value=lambda system: round(system.peak) if system.peak else None,
            ),
            Column("peak_at", "Worst second", "instant"),
            Column(
                "together",
                "Jobs in it",
                "count",
                value=lambda system: len(system.busy_jobs) or None,
            ),
        ),
        subtitle="worst second first",
    )


def _busy_jobs(systems: Sequence[FileSystemCalls]) -> Table:
    return Table.of(
        [(system, job) for system in systems for job in system.busy_jobs],
        "together",
        "Together in the worst second",
        (
            Column(
                "file_system",
                "File system",
                "mono",
                value=lambda pair: pair[0].file_system or None,
            ),
            Column(
                "job",
                "Job",
                value=lambda pair: job_link(pair[1].cluster, pair[1].job_id, pair[1].name),
            ),
            Column("cluster", "Cluster", value=lambda pair: pair[1].cluster),
            Column("calls", "Calls", "count", value=lambda pair: round(pair[1].calls, 1)),
        ),
        most=MOST_ROWS,
        empty="The files of no job are known.",
    )


def _namenodes(fleet: FleetCalls) -> Table:
    note: str = message(
        "Checkpoints of the jobs known here should cost {per_s:decimal1} calls/s. Calls are those "
        "of all clients. Times are means of its own last interval of metrics.",
        per_s=sum(system.per_s for system in fleet.file_systems),
    )
    if any(node.is_slow for node in fleet.namenodes.known):
        slow = message(
            "If calls wait, every writer waits: reduce the number of files, or move jobs to another "
            "file system."
        )
        note = join_messages((slow, note), " ")
    return Table.of(
        fleet.namenodes.known,
        "namenodes",
        "NameNodes",
        (
            CLUSTER,
            Column("ha_state", "State"),
            Column(
                "queue_ms",
                "Calls wait",
                "ms",
                "in its queue",
                lambda node: _tenths(node.queue_ms),
            ),
            Column(
                "most_queue_ms",
                "Wait at most",
                "ms",
                "of the samples of these minutes",
                lambda node: _tenths(node.most_queue_ms),
            ),
            Column("call_queue_length", "Calls that wait", "count"),
            Column("per_s", "Calls a second", "per_s"),
            Column("files", "Files and directories", "count"),
            Column("blocks", "Blocks", "count"),
            Column("heap_used_bytes", "Heap in use", "binary"),
            Column("heap_max_bytes", "Heap at most", "binary"),
        ),
        subtitle="by their JMX, in the same minutes",
        note=note,
    )


def _memory(roots: Sequence[RootMemory]) -> Table:
    return Table.of(
        roots,
        "memory",
        "Heap of NameNodes by root",
        (
            Column("root", "Root", "mono"),
            Column("files", "Files", "count", value="namespace.files"),
            Column(
                "blocks",
                "Blocks at most",
                "count",
                "of 128 MiB",
                "namespace.blocks",
            ),
            Column(
                "heap_bytes",
                "Heap",
                "bytes",
                "estimate: 150 bytes a file and a block",
                "namespace.heap_bytes",
            ),
            Column(
                "share",
                "Share",
                "share",
                "of all files, directories and blocks of its NameNode; its own directories are not counted",
            ),
            Column(
                "inlined_bytes",
                "Less if inline",
                "bytes",
                "heap of files of at most 1 MiB, which could be inline in the _metadata",
                "small_heap_bytes",
            ),
        ),
        subtitle="by the newest audits; an estimate, most files first",
        note=(
            "150 bytes an object is a rule of thumb of Cloudera's HDFS overview (Disk space versus "
            "namespace), no measurement. Files go with file merging "
            "(execution.checkpointing.file-merging.enabled, 1.20 and later), fewer "
            "retained checkpoints (execution.checkpointing.num-retained), and a higher inline "
            "threshold (state.storage.fs.memory-threshold, since 1.20 "
            "execution.checkpointing.data-inline-threshold, at most 1 MiB). What is inline takes "
            "heap of the JobManager instead."
        ),
    )


def _tenths(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
