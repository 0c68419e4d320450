from collections.abc import Iterator

from ingest.messages import Message, bytes_text, join_messages, message
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
from webapp.analyses.resources.job_resources import JobResources, look_up_resources, memory_advice
from webapp.fleet.models import JobCurrent
from webapp.hosts.memory_budget import OVERHEAD, MemoryPart

STATE_WORDS = {
    "tight": message("tight"),
    "spare": message("spare"),
    "ok": message("ok"),
    "unknown": message("unknown"),
}


@analysis(
    "resources",
    title="Resources",
    summary=(
        "memory, CPU and slots that it has on its TaskManagers, what it uses of them, and what to "
        "set"
    ),
    tab="runtime",
    in_report=True,
    is_slow=True,
)
def resources(job: JobCurrent, inputs: Inputs) -> Document:
    resources = look_up_resources(job, inputs.until)
    if resources is None:
        unsampled = NotKnown(
            "No sample of a TaskManager with slots of this job is in the day looked at."
        )
        return Document(Verdict("unknown", "No TaskManager was sampled"), (unsampled,))
    blocks: list[Block] = [_memory(resources)]
    if reasons := tuple(_unknowns(resources)):
        blocks.append(NotKnown(join_messages(reasons, " ")))
    if advice := tuple(memory_advice(resources, job.configuration, job.flink_version)):
        blocks.append(Advice(advice, "What to set"))
    return Document(
        _verdict(resources),
        (
            *blocks,
            _share(resources),
            _taskmanagers(resources),
            Note(_bounds(resources)),
        ),
    )


def _verdict(resources: JobResources) -> Verdict:
    if resources.tight:
        return Verdict(
            "warn",
            message(
                "Close to its limit: {names:message}.",
                names=join_messages(map(_used_of, resources.tight), ", "),
            ),
        )
    if resources.can_be_lowered and resources.memory_bytes:
        return Verdict(
            "ok",
            message(
                "Nothing is close to its limit; {unused:bytes} of {memory:bytes} were not used on a "
                "day with a peak.",
                unused=resources.unused_bytes or 0,
                memory=resources.memory_bytes,
            ),
        )
    if resources.unused_bytes:
        return Verdict("ok", "Nothing is close to its limit.")
    if all(part.state == "unknown" for part in resources.parts):
        return Verdict(
            "unknown",
            "What it uses of its memory is not known: its TaskManagers do not report it.",
        )
    return Verdict("ok", "Nothing is close to its limit, and nothing much would be saved.")


def _used_of(part: MemoryPart) -> Message:
    return message(
        "{part:name} ({used:message} of {configured:message})",
        part=part.name,
        used=_size(part.used_bytes),
        configured=_size(part.configured_bytes),
    )


def _memory(resources: JobResources) -> Table:
    return Table.of(
        resources.parts,
        "memory",
        "Memory of a TaskManager",
        (
            Column("part", "Part", value="name"),
            Column("configured_bytes", "Configured", "bytes"),
            Column("used_bytes", "Used", "bytes"),
            Column("used_share", "Share", "share", value="used_ratio"),
            Column("suggested_bytes", "Enough", "bytes"),
            Column("state", "State", value=lambda part: STATE_WORDS[part.state]),
            Column("option", "Option", "mono"),
        ),
        subtitle="the one that uses most of each part",
        note=(
            "Used: the most in the day looked at; of the heap the least of a quarter of an hour, "
            "which is what a collection left, in the one that has most. Managed memory is reserved "
            "as a whole by what asks for it, so only memory that nothing reserves is called spare. "
            "Of the overhead, code and compiler data are known; threads and native libraries are "
            "not. Network: Placement says how many buffers the plan needs at least."
        ),
    )


def _share(resources: JobResources) -> Facts:
    allotted, used = map(_hundredths, (resources.cpu_allotted, resources.cpu_used))
    return Facts(
        (
            Fact("slots", "Slots", resources.slots, "count"),
            Fact(
                "memory_bytes",
                "Memory",
                resources.memory_bytes,
                "bytes",
                "by slots in use: free slots count with the jobs beside them",
            ),
            Fact(
                "unused_bytes",
                "Not used",
                resources.unused_bytes,
                "bytes",
                "by samples of up to a day; the fleet's page reads the last hour",
            ),
            Fact("cpu_allotted", "Cores of its slots", allotted, "number"),
            Fact("cpu_used", "Cores used", used, "number"),
            Fact("sampled_at", "Sampled", resources.at, "instant"),
        )
    )


def _taskmanagers(resources: JobResources) -> Table:
    return Table.of(
        resources.taskmanagers,
        "taskmanagers",
        "TaskManagers",
        (
            Column("taskmanager_id", "TaskManager", "mono"),
            Column("host", "Host", "host"),
            Column("slots", "Slots", "count"),
            Column(
                "cpu_used",
                "CPU used",
                "number",
                "cores",
                lambda taskmanager: _hundredths(taskmanager.cpu_used),
            ),
            Column("gc_share", "In collections", "share", "of the time", "gc_ratio"),
        ),
    )


def _unknowns(resources: JobResources) -> Iterator[str]:
    if resources.slots is None:
        yield message(
            "Flink before 1.13 does not say whose slots are: all TaskManagers of the cluster are "
            "shown."
        )
    unknown = [part.name for part in resources.parts if part.state == "unknown"]
    if parts := [name for name in unknown if name != OVERHEAD]:
        yield message(
            "Not known: {parts:names}. Of the heap it is known once a collection ran.", parts=parts
        )
    observation = resources.observation
    if resources.unused_bytes and observation is not None and not observation.shows_peak:
        yield observation.waits_for


def _bounds(resources: JobResources) -> Message:
    seconds = max(
        (taskmanager.at - taskmanager.since).total_seconds()
        for taskmanager in resources.taskmanagers
    )
    return message(
        "The samples of its TaskManagers span {minutes:number} min: what it uses at other times is "
        "not in them. Flink reports no resident size: what RocksDB and other native libraries take "
        "beyond what is reserved shows in the container alone.",
        minutes=round(seconds / 60),
    )


def _size(size: int | None) -> Message:
    return message("unknown") if size is None else bytes_text(size)


def _hundredths(cores: float | None) -> float | None:
    return None if cores is None else round(cores, 2)
