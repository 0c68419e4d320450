"""What data in flight comes to, in words."""

from ingest.messages import message
from webapp.in_flight.job_in_flight import JobInFlight
from webapp.lib.quantities import bytes_text, count_text, percent_text

MUCH_OF_ALL = 0.5
"""Of all that unaligned checkpoints write: they save in-flight data rather than state."""


def sentence(found: JobInFlight) -> str:
    """How much can be in flight, and how much was persisted."""
    if found.most_bytes is None:
        return message("How much can be in flight is unknown: the plan of the job is not known.")
    can = message(
        "At most {most_bytes:name} are in flight: {buffers:name} buffers of {segment_bytes:name}.",
        most_bytes=bytes_text(found.most_bytes),
        buffers=count_text(found.buffers),
        segment_bytes=bytes_text(found.segment_bytes),
    )
    if found.persisted_bytes is None:
        return message(
            "{can:text} How much of it checkpoints persisted is unknown: no completed checkpoint reports it (Flink 1.14 and later do).",
            can=can,
        )
    if found.unaligned is False and not found.persisted_bytes:
        return message("{can:text} Checkpoints are aligned and persist none of it: barriers wait for what is before them.", can=can)
    share = (
        message(", {persisted_share:name} of that", persisted_share=percent_text(found.persisted_share))
        if found.persisted_share is not None
        else ""
    )
    return message(
        "{can:text} A checkpoint persisted up to {persisted_bytes:name}{share:text}.",
        can=can,
        persisted_bytes=bytes_text(found.persisted_bytes),
        share=share,
    )


def advice(found: JobInFlight) -> list[str]:
    """What to set, most useful first."""
    lines: list[str] = []
    if found.written_share is not None and found.written_share >= MUCH_OF_ALL:
        share = percent_text(found.written_share)
        lines.append(
            message(
                "{share:name} of what unaligned checkpoints wrote is data in flight, which a "
                "restore has to process again: make it less, or find what holds the job back.",
                share=share,
            )
        )
    if found.debloats is False and found.can_debloat is not False:
        lines.append(
            message(
                "taskmanager.network.memory.buffer-debloat.enabled: true (1.14 and later) "
                "makes buffers before slow tasks smaller, so that what is before a task is "
                "about a second of its input."
            )
        )
    if found.buffers_per_channel > 0 and found.vertices is not None:
        lines.append(
            message(
                "Fewer buffers also hold less: taskmanager.network.memory.buffers-per-channel "
                "(2 by default) and taskmanager.network.memory.floating-buffers-per-gate (8). "
                "Throughput over slow networks falls with them."
            )
        )
    if found.unaligned is False:
        lines.append(
            message("Where alignment takes long, execution.checkpointing.unaligned lets barriers pass what is in flight, and persists it.")
        )
    return lines
