"""What resources come to, in words."""

from dataclasses import dataclass

from ingest.messages import join_messages, message
from webapp.lib.flink_values import size_bytes
from webapp.lib.quantities import binary_text, bytes_text
from webapp.resources.budget import BUSY_GC_RATIO, HEAP, MANAGED, OVERHEAD, MemoryPart
from webapp.resources.job_resources import JobResources

TONES = {"tight": ("warn", "◆"), "spare": ("accent", "▽"), "ok": ("ok", "●"), "unknown": ("unknown", "?")}
EMPTY = {
    "title": message("No TaskManager was sampled"),
    "text": message("No sample of a TaskManager with slots of this job is in the hour looked at."),
}
UNREADABLE = {"title": message("The lake could not be read"), "text": message("The server's log has the reason.")}
_PROCESS = "taskmanager.memory.process.size"


@dataclass(frozen=True)
class Verdict:
    tone: str
    shape: str
    sentence: str


def verdict(found: JobResources) -> Verdict:
    if found.tight:
        names = join_messages(
            (
                message(
                    "{part:name} ({used:name} of {configured:name})",
                    part=part.name,
                    used=bytes_text(part.used_bytes),
                    configured=bytes_text(part.configured_bytes),
                )
                for part in found.tight
            ),
            ", ",
        )
        return Verdict("warn", "◆", message("Close to its limit: {names:text}.", names=names))
    if found.spare_bytes:
        told = (
            message("Nothing is close to its limit; %(spare)s of %(memory)s could be saved.")
            if found.memory_bytes
            else message("Nothing is close to its limit; %(spare)s could be saved.")
        )
        return Verdict("ok", "●", told % {"spare": bytes_text(found.spare_bytes), "memory": bytes_text(found.memory_bytes)})
    if all(part.state == "unknown" for part in found.parts):
        return Verdict("unknown", "?", message("What it uses of its memory is not known: its TaskManagers do not report it."))
    return Verdict("ok", "●", message("Nothing is close to its limit, and nothing much would be saved."))


def advice(found: JobResources, configuration: dict[str, str] | None) -> list[str]:
    """What to set, one sentence a part; option names are the same from Flink 1.10 to 2.3."""
    gc = max((one.gc_ratio for one in found.taskmanagers if one.gc_ratio is not None), default=0.0)
    told: list[str] = [_sentence(part, gc) for part in found.parts if part.state in ("tight", "spare")]
    spare = sum(part.spare_bytes for part in found.parts)
    process = size_bytes((configuration or {}).get(_PROCESS), 0)
    if spare and process:
        told.append(
            message(
                "{option:text} is set, so what is taken from a part goes to the heap: lower it too, from {now:name} to {then:name}.",
                option=_PROCESS,
                now=binary_text(process),
                then=binary_text(process - spare),
            )
        )
    return told


def _sentence(part: MemoryPart, gc_ratio: float) -> str:
    used, now, spare = (bytes_text(size) for size in (part.used_bytes, part.configured_bytes, part.spare_bytes))
    if part.state == "tight":
        if part.name == HEAP and gc_ratio >= BUSY_GC_RATIO:
            return message(
                "Raise {option:name}: collections take {share:name} of the time, and leave {used:name} of {now:name} in use.",
                option=part.option,
                share=f"{gc_ratio:.0%}",
                used=used,
                now=now,
            )
        return message("Raise {option:name}: {used:name} of {now:name} are used.", option=part.option, used=used, now=now)
    if part.name == MANAGED:
        return message(
            "Set {option:name} to 0, which saves {now:name} on each TaskManager: nothing reserves managed memory.",
            option=part.option,
            now=now,
        )
    told = (
        message("Lower %(option)s by %(spare)s on each TaskManager: a collection leaves %(used)s of %(now)s.")
        if part.name == HEAP
        else message("Lower %(option)s by %(spare)s on each TaskManager: at most used are %(used)s of %(now)s.")
    )
    return told % {"option": part.option, "spare": spare, "used": used, "now": now}


def unknown(found: JobResources) -> list[str]:
    told: list[str] = []
    if found.slots is None:
        told.append(message("Flink before 1.13 does not say whose slots are: all TaskManagers of the cluster are shown."))
    lacking = [part.name for part in found.parts if part.state == "unknown" and part.name != OVERHEAD]
    if lacking:
        told.append(
            message(
                "Not known: {parts:name}. Of the heap it is known once a collection ran in the hour looked at.",
                parts=join_messages(lacking, ", "),
            )
        )
    minutes = max((one.at - one.since).total_seconds() / 60 for one in found.taskmanagers)
    told.append(
        message("Samples of {minutes:name} min were looked at: what it uses at other hours is not in them.", minutes=f"{minutes:.0f}")
    )
    told.append(
        message(
            "Flink reports no resident size: what RocksDB and other native libraries take "
            "beyond what is reserved shows in the container alone."
        )
    )
    return told
