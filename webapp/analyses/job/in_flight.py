"""Data in flight between the tasks of a job: how much it can be, how much checkpoints persisted,
and what makes it less.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from ingest.flink_rest.versions import release
from ingest.messages import message
from spark_jobs.placement.in_flight import OVERDRAFT_PER_PARTITION, VertexBuffers, buffers_in_flight
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Advice,
    Asked,
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Link,
    Table,
    Tone,
    Verdict,
)
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.job_plan import buffer_settings, plan_of
from webapp.fleet.models import JobCurrent
from webapp.lib.flink_values import whole
from webapp.lib.instants import epoch_ms
from webapp.lib.quantities import bytes_text, count_text, percent_text

NEWEST = 20
MUCH_OF_ALL = 0.5
"""Of all that unaligned checkpoints write: they save in-flight data rather than state."""
_OVERDRAFT, _OVERDRAFT_SINCE = "taskmanager.network.memory.max-overdraft-buffers-per-gate", (1, 16)
_DEBLOATS, _DEBLOATS_SINCE = "taskmanager.network.memory.buffer-debloat.enabled", (1, 14)
_UNALIGNED = ("execution.checkpointing.unaligned.enabled", "execution.checkpointing.unaligned")


@dataclass(frozen=True)
class Persisted:
    """One completed checkpoint.

    ``bytes``: in-flight data; ``written_bytes``: all that it wrote. None is unknown.
    """

    checkpoint_id: int
    at: datetime
    unaligned: bool | None
    bytes: int | None
    written_bytes: int | None
    alignment_ms: int | None


@dataclass(frozen=True)
class JobInFlight:
    """``vertices`` None where the plan is not known. ``debloats`` and ``unaligned``: as configured
    or reported, None is unknown. ``checkpoints``: the newest completed ones, newest first.
    """

    segment_bytes: int
    buffers_per_channel: int
    floating_per_gate: int
    overdraft_per_partition: int
    vertices: Sequence[VertexBuffers] | None
    debloats: bool | None
    can_debloat: bool | None
    unaligned: bool | None
    checkpoints: Sequence[Persisted]

    @property
    def buffers(self) -> int | None:
        return (
            None
            if self.vertices is None
            else sum(vertex.inputs + vertex.outputs for vertex in self.vertices)
        )

    @property
    def most_bytes(self) -> int | None:
        """All buffers, each full."""
        return None if self.buffers is None else self.buffers * self.segment_bytes

    @property
    def persisted_bytes(self) -> int | None:
        """The most of the newest checkpoints; None where none says."""
        return max(
            (checkpoint.bytes for checkpoint in self.checkpoints if checkpoint.bytes is not None),
            default=None,
        )

    @property
    def persisted_share(self) -> float | None:
        """Of what can be in flight."""
        return (
            self.persisted_bytes / self.most_bytes
            if self.persisted_bytes is not None and self.most_bytes
            else None
        )

    @property
    def written_share(self) -> float | None:
        """In-flight data of all that unaligned checkpoints wrote."""
        both = [
            (checkpoint.bytes, checkpoint.written_bytes)
            for checkpoint in self.checkpoints
            if checkpoint.bytes and checkpoint.written_bytes
        ]
        written = sum(all_bytes for _bytes, all_bytes in both)
        return min(1.0, sum(size for size, _all in both) / written) if written else None


def job_in_flight(job: JobCurrent, until: datetime) -> JobInFlight:
    """One query. Checkpoints triggered up to ``until``."""
    known, plan, of = job.configuration or {}, plan_of(job), release(job.flink_version)
    settings = buffer_settings(job.configuration)
    overdraft = (
        whole(known.get(_OVERDRAFT), OVERDRAFT_PER_PARTITION)
        if of is None or of[:2] >= _OVERDRAFT_SINCE
        else 0
    )
    done = CheckpointFact.objects.filter(
        cluster=job.cluster, job_id=job.job_id, outcome="completed", trigger_time__lte=until
    )
    columns = (
        "checkpoint_id",
        "trigger_time",
        "unaligned",
        "persisted_bytes",
        "checkpointed_bytes",
        "alignment_ms",
    )
    rows = done.exclude(is_savepoint=True).order_by("-trigger_time").values_list(*columns)[:NEWEST]
    return JobInFlight(
        settings.segment_bytes,
        settings.buffers_per_channel,
        settings.floating_per_gate,
        overdraft,
        None if plan is None else buffers_in_flight(plan, settings, overdraft),
        _flag(job.configuration, _DEBLOATS),
        None if of is None else of[:2] >= _DEBLOATS_SINCE,
        _unaligned(job),
        [Persisted(*row) for row in rows],
    )


def _unaligned(job: JobCurrent) -> bool | None:
    reported = (job.checkpoint_config or {}).get("unaligned")
    if isinstance(reported, bool):
        return reported
    configured = [
        _flag(job.configuration, key)
        for key in _UNALIGNED
        if (job.configuration or {}).get(key) is not None
    ]
    return configured[0] if configured else None


def _flag(configuration: dict[str, Any] | None, key: str) -> bool | None:
    """False where it is not set; None where the configuration is not known."""
    return None if configuration is None else str(configuration.get(key)).lower() == "true"


@analysis(
    "in-flight",
    title=message("In flight"),
    summary=message(
        "data between its tasks: how much it can be, and how much checkpoints persisted"
    ),
    tab="pressure",
    in_report=True,
)
def in_flight(job: JobCurrent, asked: Asked) -> Document:
    flight = job_in_flight(job, asked.until)
    tone: Tone = "unknown" if flight.most_bytes is None else "done"
    blocks: list[Block] = [
        _settings(flight),
        _vertices(flight),
    ]
    if lines := tuple(_advice(flight)):
        blocks.append(Advice(lines, message("What to set")))
    return Document(Verdict(tone, _sentence(flight)), (*blocks, _persisted(job, flight)))


def _settings(flight: JobInFlight) -> Facts:
    return Facts(
        (
            Fact("unaligned", message("Unaligned checkpoints"), flight.unaligned, "flag"),
            Fact("debloats", message("Buffers are debloated"), flight.debloats, "flag"),
            Fact(
                "buffers_per_channel",
                message("Buffers of a channel"),
                flight.buffers_per_channel,
                "count",
            ),
            Fact(
                "floating_per_gate",
                message("Floating, of a gate"),
                flight.floating_per_gate,
                "count",
            ),
            Fact(
                "overdraft_per_partition",
                message("Overdraft, of a partition"),
                flight.overdraft_per_partition,
                "count",
                message("none before 1.16"),
            ),
            Fact("segment_bytes", message("Size of a buffer"), flight.segment_bytes, "bytes"),
            Fact("buffers", message("Buffers of all tasks, at most"), flight.buffers, "count"),
            Fact("most_bytes", message("All of them full"), flight.most_bytes, "bytes"),
            Fact(
                "persisted_bytes",
                message("Persisted by a checkpoint, at most"),
                flight.persisted_bytes,
                "bytes",
            ),
            Fact(
                "written_share",
                message("Of what unaligned checkpoints wrote"),
                flight.written_share,
                "share",
            ),
        )
    )


def _vertices(flight: JobInFlight) -> Table:
    most = sorted(flight.vertices or (), key=lambda vertex: -(vertex.inputs + vertex.outputs))
    size = flight.segment_bytes
    return Table(
        "vertices",
        message("Vertices"),
        (
            Column("vertex", message("Vertex")),
            Column("parallelism", message("Subtasks"), "count"),
            Column(
                "before_bytes",
                message("Before it"),
                "bytes",
                message("buffers before it, each full"),
            ),
            Column("before_buffers", message("Buffers before it"), "count"),
            Column(
                "behind_bytes",
                message("Behind it"),
                "bytes",
                message("buffers behind it, each full"),
            ),
            Column("behind_buffers", message("Buffers behind it"), "count"),
        ),
        tuple(
            (
                buffers.name,
                buffers.parallelism,
                buffers.inputs * size,
                buffers.inputs,
                buffers.outputs * size,
                buffers.outputs,
            )
            for buffers in most
        ),
        note=message(
            "At most, with every buffer full and every channel between two TaskManagers. "
            "Debloated buffers before a task are smaller; the analysis State backend shows "
            "their size where Flink reports it."
        ),
        empty=message("The plan of the job is not known."),
    )


def _persisted(job: JobCurrent, flight: JobInFlight) -> Table:
    def link(persisted: Persisted) -> Link:
        args = [job.cluster, job.job_id, persisted.checkpoint_id, epoch_ms(persisted.at)]
        return Link(str(persisted.checkpoint_id), reverse("checkpoint", args=args))

    return Table(
        "checkpoints",
        message("Persisted"),
        (
            Column("at", message("Triggered"), "instant"),
            Column("checkpoint_id", message("Checkpoint"), "checkpoint"),
            Column("unaligned", message("Unaligned"), "flag"),
            Column("bytes", message("In-flight data"), "bytes"),
            Column("written_bytes", message("All it wrote"), "bytes"),
            Column("alignment_ms", message("Alignment"), "ms"),
        ),
        tuple(
            (
                checkpoint.at,
                link(checkpoint),
                checkpoint.unaligned,
                checkpoint.bytes,
                checkpoint.written_bytes,
                checkpoint.alignment_ms,
            )
            for checkpoint in flight.checkpoints
        ),
        subtitle=message("by the newest completed checkpoints"),
        empty=message("No completed checkpoint was seen up to now."),
    )


def _sentence(flight: JobInFlight) -> str:
    """How much can be in flight, and how much was persisted."""
    if flight.most_bytes is None:
        return message("How much can be in flight is unknown: the plan of the job is not known.")
    can = message(
        "At most {most_bytes:name} are in flight: {buffers:name} buffers of {segment_bytes:name}.",
        most_bytes=bytes_text(flight.most_bytes),
        buffers=count_text(flight.buffers),
        segment_bytes=bytes_text(flight.segment_bytes),
    )
    if flight.persisted_bytes is None:
        return message(
            "{can:text} How much of it checkpoints persisted is unknown: no completed checkpoint "
            "reports it (Flink 1.14 and later do).",
            can=can,
        )
    if flight.unaligned is False and not flight.persisted_bytes:
        return message(
            "{can:text} Checkpoints are aligned and persist none of it: barriers wait for what is "
            "before them.",
            can=can,
        )
    share = (
        message(
            ", {persisted_share:name} of that", persisted_share=percent_text(flight.persisted_share)
        )
        if flight.persisted_share is not None
        else ""
    )
    return message(
        "{can:text} A checkpoint persisted up to {persisted_bytes:name}{share:text}.",
        can=can,
        persisted_bytes=bytes_text(flight.persisted_bytes),
        share=share,
    )


def _advice(flight: JobInFlight) -> list[str]:
    """What to set, most useful first."""
    lines: list[str] = []
    is_much = flight.written_share is not None and flight.written_share >= MUCH_OF_ALL
    if is_much:
        share = percent_text(flight.written_share)
        lines.append(
            message(
                "{share:name} of what unaligned checkpoints wrote is data in flight, which a "
                "restore has to process again: make it less, or find what holds the job back.",
                share=share,
            )
        )
    if flight.debloats is False and flight.can_debloat is not False:
        lines.append(
            message(
                "taskmanager.network.memory.buffer-debloat.enabled: true (1.14 and later) "
                "makes buffers before slow tasks smaller, so that what is before a task is "
                "about a second of its input."
            )
        )
    if is_much and flight.buffers_per_channel > 0 and flight.vertices is not None:
        lines.append(
            message(
                "Fewer buffers also hold less: taskmanager.network.memory.buffers-per-channel "
                "(2 by default) and taskmanager.network.memory.floating-buffers-per-gate (8). "
                "Throughput over slow networks falls with them."
            )
        )
    if flight.unaligned is False:
        lines.append(
            message(
                "Where alignment takes long, execution.checkpointing.unaligned lets barriers pass "
                "what is in flight, and persists it."
            )
        )
    return lines
