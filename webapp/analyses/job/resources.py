"""What a job has of its TaskManagers, what it uses of it, and what to set."""

from collections.abc import Iterator, Sequence

from ingest.messages import Message, bytes_text, join_messages, message
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Advice,
    Asked,
    Block,
    Chart,
    Column,
    Document,
    Drawn,
    Fact,
    Facts,
    Note,
    NotKnown,
    Table,
    Verdict,
)
from webapp.analyses.resources.job_resources import JobResources
from webapp.analyses.resources.lookup import look_up_resources
from webapp.charts.resources import configured_and_used
from webapp.fleet.models import JobCurrent
from webapp.hosts.memory_budget import BUSY_GC_RATIO, HEAP, MANAGED, OVERHEAD, MemoryPart
from webapp.lib.flink_values import size_bytes
from webapp.lib.messages.rendering import localised
from webapp.lib.quantities import binary_text

STATE_WORDS = {
    "tight": message("tight"),
    "spare": message("spare"),
    "ok": message("ok"),
    "unknown": message("unknown"),
}
EMPTY = message("No TaskManager was sampled")
EMPTY_TEXT = message("No sample of a TaskManager with slots of this job is in the hour looked at.")
_PROCESS = "taskmanager.memory.process.size"


@analysis(
    "resources",
    title=message("Resources"),
    summary=message(
        "memory, CPU and slots that it has on its TaskManagers, what it uses of them, and what to "
        "set"
    ),
    tab="runtime",
    in_report=True,
    is_slow=True,
)
def resources(job: JobCurrent, asked: Asked) -> Document:
    job_resources = look_up_resources(job, asked.until)
    if job_resources is None:
        return Document(Verdict("unknown", EMPTY), (NotKnown(EMPTY_TEXT),))
    blocks: list[Block] = [
        Chart(
            "memory",
            message("Memory by part"),
            subtitle=message("configured, and used at most"),
        ),
        _memory(job_resources),
    ]
    if reasons := tuple(_unknown(job_resources)):
        blocks.append(NotKnown(join_messages(reasons, " ")))
    if advice := tuple(_advice(job_resources, job.configuration)):
        blocks.append(Advice(advice, message("What to set")))
    return Document(
        _verdict(job_resources),
        (
            *blocks,
            _share(job_resources),
            _taskmanagers(job_resources),
            Note(_bounds(job_resources)),
        ),
    )


@resources.draws("memory")
def memory(job: JobCurrent, asked: Asked) -> Drawn:
    job_resources = look_up_resources(job, asked.until)
    if job_resources is None:
        return Drawn(empty_title=EMPTY, empty_text=EMPTY_TEXT)
    parts = [part for part in job_resources.parts if part.configured_bytes]
    figure = configured_and_used(
        [localised(part.name) for part in parts],
        [part.configured_bytes for part in parts],
        [part.used_bytes for part in parts],
        (localised(message("configured")), localised(message("used"))),
    )
    note = message(
        "Of the TaskManager that uses most of each part. Used: the most in the hour; of the heap "
        "what a collection left."
    )
    return Drawn(figure, note)


def _verdict(job_resources: JobResources) -> Verdict:
    if job_resources.tight:
        names = join_messages(map(_used_of, job_resources.tight), ", ")
        return Verdict("warn", message("Close to its limit: {names:message}.", names=names))
    if job_resources.spare_bytes and job_resources.memory_bytes:
        saving = message(
            "Nothing is close to its limit; {spare:bytes} of {memory:bytes} could be saved.",
            spare=job_resources.spare_bytes,
            memory=job_resources.memory_bytes,
        )
        return Verdict("ok", saving)
    if job_resources.spare_bytes:
        saving = message(
            "Nothing is close to its limit; {spare:bytes} could be saved.",
            spare=job_resources.spare_bytes,
        )
        return Verdict("ok", saving)
    if all(part.state == "unknown" for part in job_resources.parts):
        unreported = message(
            "What it uses of its memory is not known: its TaskManagers do not report it."
        )
        return Verdict("unknown", unreported)
    enough = message("Nothing is close to its limit, and nothing much would be saved.")
    return Verdict("ok", enough)


def _used_of(part: MemoryPart) -> Message:
    return message(
        "{part:name} ({used:message} of {configured:message})",
        part=part.name,
        used=_size(part.used_bytes),
        configured=_size(part.configured_bytes),
    )


def _memory(job_resources: JobResources) -> Table:
    return Table(
        "memory",
        message("Memory of a TaskManager"),
        (
            Column("part", message("Part")),
            Column("configured_bytes", message("Configured"), "bytes"),
            Column("used_bytes", message("Used"), "bytes"),
            Column("used_share", message("Share"), "share"),
            Column("suggested_bytes", message("Enough"), "bytes"),
            Column("state", message("State")),
            Column("option", message("Option"), "mono"),
        ),
        tuple(
            (
                part.name,
                part.configured_bytes,
                part.used_bytes,
                part.used_ratio,
                part.suggested_bytes,
                STATE_WORDS[part.state],
                part.option,
            )
            for part in job_resources.parts
        ),
        subtitle=message("the one that uses most of each part"),
        note=message(
            "Used: the most in the hour looked at; of the heap the least, which is what a "
            "collection left. Managed memory is reserved as a whole by what asks for it, so only "
            "memory that nothing reserves is called spare. Of the overhead, code and compiler data "
            "are known; threads and native libraries are not. Network: Placement says how many "
            "buffers the plan needs at least."
        ),
    )


def _share(job_resources: JobResources) -> Facts:
    by_slots = message("by slots in use: free slots count with the jobs beside them")
    cores = message("cores")
    return Facts(
        (
            Fact("slots", message("Slots"), job_resources.slots, "count"),
            Fact("memory_bytes", message("Memory"), job_resources.memory_bytes, "bytes", by_slots),
            Fact("spare_bytes", message("Could be saved"), job_resources.spare_bytes, "bytes"),
            Fact(
                "cpu_allotted",
                message("CPU of its slots"),
                _hundredths(job_resources.cpu_allotted),
                "number",
                cores,
            ),
            Fact(
                "cpu_used",
                message("CPU used"),
                _hundredths(job_resources.cpu_used),
                "number",
                cores,
            ),
            Fact("sampled_at", message("Sampled"), job_resources.at, "instant"),
        )
    )


def _taskmanagers(job_resources: JobResources) -> Table:
    names = [part.name for part in job_resources.parts]
    return Table(
        "taskmanagers",
        message("TaskManagers"),
        (
            Column("taskmanager_id", message("TaskManager"), "mono"),
            Column("host", message("Host"), "host"),
            Column("slots", message("Slots"), "count"),
            Column("free_slots", message("Free"), "count"),
            Column("cpu_used", message("CPU used"), "number", message("cores")),
            Column("gc_share", message("In collections"), "share", message("of the time")),
            *(Column(f"{name.replace('-', '_')}_used_bytes", name, "bytes") for name in names),
        ),
        tuple(
            (
                taskmanager.taskmanager_id,
                taskmanager.host,
                taskmanager.slots,
                taskmanager.free_slots,
                _hundredths(taskmanager.cpu_used),
                taskmanager.gc_ratio,
                *(part.used_bytes for part in taskmanager.parts),
            )
            for taskmanager in job_resources.taskmanagers
        ),
        subtitle=message("parts of memory: what of each is used"),
    )


def _advice(job_resources: JobResources, configuration: dict[str, str] | None) -> Iterator[str]:
    """A sentence a part; option names are the same from Flink 1.10 to 2.3."""
    gc_ratio = max(
        (taskmanager.gc_ratio or 0.0 for taskmanager in job_resources.taskmanagers), default=0.0
    )
    for part in job_resources.parts:
        if part.state == "tight":
            yield _raise(part, gc_ratio)
        elif part.state == "spare":
            yield _lower(part)
    spare = sum(part.spare_bytes for part in job_resources.parts)
    process = size_bytes((configuration or {}).get(_PROCESS), 0)
    if spare and process:
        yield message(
            "{option:name} is set, so what is taken from a part goes to the heap: lower it too, "
            "from {now:name} to {then:name}.",
            option=_PROCESS,
            now=binary_text(process),
            then=binary_text(process - spare),
        )


def _raise(part: MemoryPart, gc_ratio: float) -> Message:
    used, now = _size(part.used_bytes), _size(part.configured_bytes)
    if part.name == HEAP and gc_ratio >= BUSY_GC_RATIO:
        return message(
            "Raise {option:name}: collections take {share:share} of the time, and leave "
            "{used:message} of {now:message} in use.",
            option=part.option,
            share=gc_ratio,
            used=used,
            now=now,
        )
    return message(
        "Raise {option:name}: {used:message} of {now:message} are used.",
        option=part.option,
        used=used,
        now=now,
    )


def _lower(part: MemoryPart) -> Message:
    if part.name == MANAGED:
        return message(
            "Set {option:name} to 0, which saves {now:message} on each TaskManager: nothing "
            "reserves managed memory.",
            option=part.option,
            now=_size(part.configured_bytes),
        )
    sizes = {"used": _size(part.used_bytes), "now": _size(part.configured_bytes)}
    if part.name == HEAP:
        return message(
            "Lower {option:name} by {spare:bytes} on each TaskManager: a collection leaves "
            "{used:message} of {now:message}.",
            option=part.option,
            spare=part.spare_bytes,
            **sizes,
        )
    return message(
        "Lower {option:name} by {spare:bytes} on each TaskManager: at most used are {used:message} "
        "of {now:message}.",
        option=part.option,
        spare=part.spare_bytes,
        **sizes,
    )


def _unknown(job_resources: JobResources) -> Iterator[str]:
    if job_resources.slots is None:
        yield message(
            "Flink before 1.13 does not say whose slots are: all TaskManagers of the cluster are "
            "shown."
        )
    lacking = _names(
        [part for part in job_resources.parts if part.state == "unknown" and part.name != OVERHEAD]
    )
    if lacking:
        yield message(
            "Not known: {parts:names}. Of the heap it is known once a collection ran in the hour "
            "looked at.",
            parts=lacking,
        )


def _names(parts: Sequence[MemoryPart]) -> list[str]:
    return [part.name for part in parts]


def _bounds(job_resources: JobResources) -> Message:
    seconds = max(
        (taskmanager.at - taskmanager.since).total_seconds()
        for taskmanager in job_resources.taskmanagers
    )
    return message(
        "Samples of {minutes:number} min were looked at: what it uses at other hours is not in "
        "them. Flink reports no resident size: what RocksDB and other native libraries take beyond "
        "what is reserved shows in the container alone.",
        minutes=round(seconds / 60),
    )


def _size(size: int | None) -> Message:
    return message("unknown") if size is None else bytes_text(size)


def _hundredths(cores: float | None) -> float | None:
    return None if cores is None else round(cores, 2)
