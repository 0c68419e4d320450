"""What resources come to, in words."""

from dataclasses import dataclass

from webapp.lib.flink_values import size_bytes
from webapp.lib.quantities import binary_text, bytes_text
from webapp.resources.budget import BUSY_GC_RATIO, HEAP, MANAGED, OVERHEAD, MemoryPart
from webapp.resources.job_resources import JobResources

TONES = {"tight": ("warn", "◆"), "spare": ("accent", "▽"), "ok": ("ok", "●"), "unknown": ("unknown", "?")}
EMPTY = {"title": "No TaskManager was sampled", "text": "No sample of a TaskManager with slots of this job is in the hour looked at."}
UNREADABLE = {"title": "The lake could not be read", "text": "The server's log has the reason."}
_PROCESS = "taskmanager.memory.process.size"


@dataclass(frozen=True)
class Verdict:
    tone: str
    shape: str
    sentence: str


def verdict(found: JobResources) -> Verdict:
    if found.tight:
        names = ", ".join(f"{part.name} ({bytes_text(part.used_bytes)} of {bytes_text(part.configured_bytes)})" for part in found.tight)
        return Verdict("warn", "◆", f"Close to its limit: {names}.")
    if found.spare_bytes:
        of = f" of {bytes_text(found.memory_bytes)}" if found.memory_bytes else ""
        return Verdict("ok", "●", f"Nothing is close to its limit; {bytes_text(found.spare_bytes)}{of} could be saved.")
    if all(part.state == "unknown" for part in found.parts):
        return Verdict("unknown", "?", "What it uses of its memory is not known: its TaskManagers do not report it.")
    return Verdict("ok", "●", "Nothing is close to its limit, and nothing much would be saved.")


def advice(found: JobResources, configuration: dict[str, str] | None) -> list[str]:
    """What to set, one sentence a part; option names are the same from Flink 1.10 to 2.3."""
    gc = max((one.gc_ratio for one in found.taskmanagers if one.gc_ratio is not None), default=0.0)
    told = [_sentence(part, gc) for part in found.parts if part.state in ("tight", "spare")]
    spare = sum(part.spare_bytes for part in found.parts)
    process = size_bytes((configuration or {}).get(_PROCESS), 0)
    if spare and process:
        told.append(
            f"{_PROCESS} is set, so what is taken from a part goes to the heap: lower it too, from {binary_text(process)} to "
            f"{binary_text(process - spare)}."
        )
    return told


def _sentence(part: MemoryPart, gc_ratio: float) -> str:
    used, now, spare = (bytes_text(size) for size in (part.used_bytes, part.configured_bytes, part.spare_bytes))
    if part.state == "tight":
        if part.name == HEAP and gc_ratio >= BUSY_GC_RATIO:
            return f"Raise {part.option}: collections take {gc_ratio:.0%} of the time, and leave {used} of {now} in use."
        return f"Raise {part.option}: {used} of {now} are used."
    if part.name == MANAGED:
        return f"Set {part.option} to 0, which saves {now} on each TaskManager: nothing reserves managed memory."
    what = "a collection leaves" if part.name == HEAP else "at most used are"
    return f"Lower {part.option} by {spare} on each TaskManager: {what} {used} of {now}."


def unknown(found: JobResources) -> list[str]:
    told = []
    if found.slots is None:
        told.append("Flink before 1.13 does not say whose slots are: all TaskManagers of the cluster are shown.")
    lacking = [part.name for part in found.parts if part.state == "unknown" and part.name != OVERHEAD]
    if lacking:
        told.append(f"Not known: {', '.join(lacking)}. Of the heap it is known once a collection ran in the hour looked at.")
    minutes = max((one.at - one.since).total_seconds() / 60 for one in found.taskmanagers)
    told.append(f"Samples of {minutes:.0f} min were looked at: what it uses at other hours is not in them.")
    told.append(
        "Flink reports no resident size: what RocksDB and other native libraries take beyond what is reserved shows in the container alone."
    )
    return told
