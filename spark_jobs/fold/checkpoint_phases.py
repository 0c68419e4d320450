"""Phases of a checkpoint: the largest of each over all subtasks, and those of the slowest subtask,
which add up to its duration. Also subtasks that did not acknowledge.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

from spark_jobs.fold.checkpoint_by_rest import is_final
from spark_jobs.fold.checkpoint_log import Names
from spark_jobs.fold.rows import Row, Rows, grouped, largest, newest_known, rank
from spark_jobs.serving import PHASES

INDEXES_KEPT = 50
HOSTS_KEPT = 50

_TIMES = tuple(f"subtask_{name}_ms" for name in ("end_to_end", *PHASES))
REPORTED = (
    "subtasks",
    "acknowledged",
    "subtask_ack_time",
    "subtask_unaligned",
    "subtask_aborted",
    *_TIMES,
)

Hosts = Sequence[str | None]


@dataclass(frozen=True)
class HostHistory:
    by_vertex: dict[str, list[tuple[int, Hosts]]]

    @classmethod
    def of(cls, placements: Rows) -> "HostHistory":
        with_hosts = grouped((row for row in placements if row["host"] is not None), "vertex_id")
        by_vertex: dict[str, list[tuple[int, Hosts]]] = {}
        for vertex_id, rows in with_hosts.items():
            dated = {(row["ts"], tuple(row["host"])) for row in rows}
            by_vertex[vertex_id] = sorted(dated, key=rank) if len(dated) > 1 else list(dated)
        return cls(by_vertex)

    def at(self, vertex_id: str, at_ms: int) -> Hosts:
        """Hosts by subtask, as last known at ``at_ms``, else as first known later."""
        dated = self.by_vertex.get(vertex_id, [])
        index = bisect_right(dated, at_ms, key=itemgetter(0)) - 1
        return dated[max(index, 0)][1] if dated else ()


@dataclass(frozen=True)
class Subtask:
    vertex_id: str
    index: int
    host: str | None
    end_to_end_ms: int
    phase_ms: dict[str, int | None]

    @property
    def slowness(self) -> Any:
        phases = (rank(self.phase_ms[phase]) for phase in PHASES)
        return (self.end_to_end_ms, -self.index, self.vertex_id, rank(self.host), *phases)


@dataclass(frozen=True)
class Durations:
    """Lists of equal length over the subtasks of one vertex that have a known duration."""

    vertex_id: str
    hosts: Hosts
    indexes: Sequence[int]
    end_to_end_ms: Sequence[int]
    phases_ms: tuple[Sequence[int | None], ...]

    @classmethod
    def of(cls, vertex_id: str, reported: Row, hosts: Hosts) -> "Durations":
        columns: list[Sequence[Any]] = [reported[name] or () for name in _TIMES]
        aborted = _aborted(reported)
        subtasks = max(map(len, columns))
        columns = [[*column, *[None] * (subtasks - len(column))] for column in columns]
        indexes: Sequence[int] = range(subtasks)
        if None in columns[0] or aborted:
            indexes = [
                index for index in indexes if columns[0][index] is not None and index not in aborted
            ]
            columns = [[column[index] for index in indexes] for column in columns]
        return cls(vertex_id, hosts, indexes, columns[0], tuple(columns[1:]))

    def subtask(self, place: int) -> Subtask:
        index = self.indexes[place]
        phase_ms = {
            phase: values[place] for phase, values in zip(PHASES, self.phases_ms, strict=True)
        }
        return Subtask(
            self.vertex_id, index, _host(self.hosts, index), self.end_to_end_ms[place], phase_ms
        )


@dataclass(frozen=True)
class Missing:
    """Subtasks of a vertex that did not acknowledge: ``count``, the first ``indexes``, ``hosts``.
    ``late``: how many reported after the checkpoint's end; the slowest of these spent most of its
    time in ``late_phase``.
    """

    vertex_id: str
    count: int
    indexes: tuple[int, ...]
    hosts: tuple[str, ...]
    late: int = 0
    late_phase: str | None = None


@dataclass(frozen=True)
class CheckpointPhases:
    """``missing``: None if no vertex was reported. ``latest_source``: the source subtask that
    started last; sources start at the trigger.
    """

    phase_ms: dict[str, int | None] = field(default_factory=dict)
    unaligned: bool | None = None
    slowest: Subtask | None = None
    latest_source: Subtask | None = None
    missing: tuple[Missing, ...] | None = None
    as_of: int | None = None

    @property
    def dominant_phase(self) -> str | None:
        """The longest phase of the slowest subtask, the earlier of two equal ones."""
        if self.slowest is None:
            return None
        nonzero = {phase: ms for phase in PHASES if (ms := self.slowest.phase_ms[phase])}
        return max(nonzero, key=lambda phase: nonzero[phase]) if nonzero else None


def checkpoint_phases(
    rows: Rows,
    trigger_time: int,
    hosts: HostHistory,
    is_settled: bool,
    sources: Collection[str] = (),
) -> CheckpointPhases:
    """``is_settled``: the checkpoint ended. Then only answers since its end have durations and
    missing subtasks.
    """
    durations: list[Durations] = []
    missing, unaligned, as_of, is_partial = [], [], None, False
    for vertex_id, answers in grouped(rows, "vertex_id").items():
        valid = [row for row in answers if is_last(row)] if is_settled else answers
        is_partial |= not valid or (_has_durations(answers) and not _has_durations(valid))
        reported = newest_known(valid, REPORTED, order)
        vertex_hosts = hosts.at(vertex_id, trigger_time)
        durations.append(Durations.of(vertex_id, reported, vertex_hosts))
        of_vertex = _missing(vertex_id, reported, vertex_hosts)
        if of_vertex.count > 0:
            missing.append(of_vertex)
        if reported["subtask_unaligned"] is not None:
            unaligned.append(any(reported["subtask_unaligned"]))
        as_of = largest(as_of, *(row["observed_at"] for row in answers))
    if as_of is None:
        return CheckpointPhases()
    if is_partial:
        return CheckpointPhases(as_of=as_of)
    return CheckpointPhases(
        phase_ms={
            phase: largest(
                *chain.from_iterable(duration.phases_ms[place] for duration in durations)
            )
            for place, phase in enumerate(PHASES)
        },
        unaligned=any(unaligned) if unaligned else None,
        slowest=_slowest(durations),
        latest_source=_latest_start(
            [duration for duration in durations if duration.vertex_id in sources]
        ),
        missing=tuple(sorted(missing, key=lambda vertex: vertex.vertex_id)),
        as_of=as_of,
    )


def is_last(row: Row) -> bool:
    return is_final(row["status"]) or (
        row["subtasks"] is not None and row["acknowledged"] == row["subtasks"]
    )


def _has_durations(rows: Rows) -> bool:
    return any(row["subtask_end_to_end_ms"] for row in rows)


def _slowest(durations: Sequence[Durations]) -> Subtask | None:
    longest_ms = max(
        (max(duration.end_to_end_ms) for duration in durations if duration.end_to_end_ms),
        default=None,
    )
    tied = (
        duration.subtask(place)
        for duration in durations
        for place, ms in enumerate(duration.end_to_end_ms)
        if ms == longest_ms
    )
    return max(tied, key=lambda subtask: subtask.slowness, default=None)


def _latest_start(durations: Sequence[Durations]) -> Subtask | None:
    delays = [
        (delay_ms, duration, place)
        for duration in durations
        for place, delay_ms in enumerate(duration.phases_ms[0])
        if delay_ms is not None
    ]
    longest_ms = max((delay_ms for delay_ms, _, _ in delays), default=None)
    return max(
        (duration.subtask(place) for ms, duration, place in delays if ms == longest_ms),
        key=lambda subtask: subtask.slowness,
        default=None,
    )


def not_acknowledged(
    phases: CheckpointPhases, names: Names, subtasks: int | None, acknowledged: int | None
) -> list[Row] | None:
    if phases.missing:
        return [
            {
                "vertex_id": vertex.vertex_id,
                "vertex_name": names.get(vertex.vertex_id),
                "subtasks": list(vertex.indexes),
                "count": vertex.count,
                "hosts": list(vertex.hosts),
            }
            | ({"late": vertex.late, "late_phase": vertex.late_phase} if vertex.late_phase else {})
            for vertex in phases.missing
        ]
    if phases.missing is not None or subtasks is None or acknowledged is None:
        return None
    count = subtasks - acknowledged
    unknown_vertex: Row = {
        "vertex_id": None,
        "vertex_name": None,
        "subtasks": [],
        "count": count,
        "hosts": [],
    }
    return [unknown_vertex] if count > 0 else None


def order(row: Row) -> Any:
    return is_final(row["status"]), rank(row["acknowledged"]), rank(row["observed_at"])


def _missing(vertex_id: str, reported: Row, hosts: Hosts) -> Missing:
    acknowledged_at = reported["subtask_ack_time"] or ()
    aborted = _aborted(reported)
    absent = []
    if None in acknowledged_at or aborted:
        absent = [
            index for index, at in enumerate(acknowledged_at) if at is None or index in aborted
        ]
    absent_hosts = sorted({host for index in absent if (host := _host(hosts, index)) is not None})
    # Counts may come without subtasks, or from another instant: known subtasks take precedence.
    count = len(absent)
    if not acknowledged_at and None not in (reported["subtasks"], reported["acknowledged"]):
        count = reported["subtasks"] - reported["acknowledged"]
    return Missing(
        vertex_id,
        count,
        tuple(absent[:INDEXES_KEPT]),
        tuple(absent_hosts[:HOSTS_KEPT]),
        *_late(reported, aborted),
    )


def _late(reported: Row, aborted: Collection[int]) -> tuple[int, str | None]:
    """Number of aborted subtasks that reported later, and the longest phase of the slowest. Of an
    asynchronous phase that was cut off, Flink reports no duration: it is what end-to-end leaves.
    """
    columns = [reported[name] or () for name in _TIMES]
    rows: list[list[Any]] = [
        [values[index] if index < len(values) else None for values in columns] for index in aborted
    ]
    late = [times for times in rows if times[0]]
    if not late:
        return 0, None
    end_to_end, *phases = max(late, key=lambda times: (times[0] or 0, rank(times)))
    *earlier_phases, asynchronous = phases
    if asynchronous is None and None not in earlier_phases:
        phases = [*earlier_phases, max(end_to_end - sum(earlier_phases), 0)]
    longest = max(range(len(PHASES)), key=lambda place: (phases[place] or 0, -place))
    return len(late), PHASES[longest] if phases[longest] else None


def _aborted(reported: Row) -> frozenset[int]:
    """Subtasks that reported to an aborted checkpoint: Flink acknowledges none of them."""
    return frozenset(
        index for index, is_aborted in enumerate(reported["subtask_aborted"] or ()) if is_aborted
    )


def _host(hosts: Hosts, index: int) -> str | None:
    return hosts[index] if index < len(hosts) else None
