"""Phases of a checkpoint: the largest over all subtasks, which do not add up, and those of the
slowest subtask, which do; and subtasks that did not acknowledge.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

from spark_jobs.fold.checkpoint_by_rest import is_final
from spark_jobs.fold.checkpoint_log import Names
from spark_jobs.fold.rows import Row, grouped, largest, newest_known, rank
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
    of_vertex: dict[str, list[tuple[int, Hosts]]]

    @classmethod
    def of(cls, placements: Iterable[Row]) -> "HostHistory":
        known = grouped((row for row in placements if row["host"] is not None), "vertex_id")
        of_vertex: dict[str, list[tuple[int, Hosts]]] = {}
        for vertex_id, rows in known.items():
            seen = {(row["ts"], tuple(row["host"])) for row in rows}
            of_vertex[vertex_id] = sorted(seen, key=rank) if len(seen) > 1 else list(seen)
        return cls(of_vertex)

    def at(self, vertex_id: str, at_ms: int) -> Hosts:
        """The last known hosts at that time, else the first known after it."""
        known = self.of_vertex.get(vertex_id, [])
        place = bisect_right(known, at_ms, key=itemgetter(0))
        return known[max(place - 1, 0)][1] if known else ()


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
    """The subtasks of one vertex with a known duration: lists of one length."""

    vertex_id: str
    hosts: Hosts
    indexes: Sequence[int]
    end_to_end_ms: Sequence[int]
    phases_ms: tuple[Sequence[int | None], ...]

    @classmethod
    def of(cls, vertex_id: str, reported: Mapping[str, Any], hosts: Hosts) -> "Durations":
        columns: list[Sequence[Any]] = [reported[name] or () for name in _TIMES]
        aborted = _aborted(reported)
        most = max(map(len, columns))
        columns = [[*column, *[None] * (most - len(column))] for column in columns]
        indexes: Sequence[int] = range(most)
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
    """``count`` in all, the first ``indexes`` and their ``hosts``. ``late`` of them reported their
    part afterwards, the slowest mostly in ``late_phase``.
    """

    vertex_id: str
    count: int
    indexes: tuple[int, ...]
    hosts: tuple[str, ...]
    late: int = 0
    late_phase: str | None = None


@dataclass(frozen=True)
class CheckpointPhases:
    """``missing``: None if no vertex was seen. ``latest_source``: the source subtask that started
    last; no barriers arrive at sources.
    """

    phase_ms: dict[str, int | None] = field(default_factory=dict)
    unaligned: bool | None = None
    slowest: Subtask | None = None
    latest_source: Subtask | None = None
    missing: tuple[Missing, ...] | None = None
    as_of: int | None = None

    @property
    def dominant_phase(self) -> str | None:
        """Of the slowest subtask, the earlier of two equal ones."""
        if self.slowest is None:
            return None
        known = {phase: ms for phase in PHASES if (ms := self.slowest.phase_ms[phase])}
        return max(known, key=lambda phase: known[phase]) if known else None


def checkpoint_phases(
    rows: Iterable[Row],
    trigger_time: int,
    hosts: HostHistory,
    is_settled: bool,
    sources: Collection[str] = (),
) -> CheckpointPhases:
    """``is_settled``: the checkpoint has ended; answers before its end do not tell durations or
    missing subtasks.
    """
    durations: list[Durations] = []
    missing, unaligned, as_of, is_partial = [], [], None, False
    for vertex_id, seen in grouped(rows, "vertex_id").items():
        last = [row for row in seen if is_last(row)] if is_settled else seen
        is_partial |= not last or (_has_durations(seen) and not _has_durations(last))
        reported = newest_known(last, REPORTED, order)
        of_vertex = hosts.at(vertex_id, trigger_time)
        durations.append(Durations.of(vertex_id, reported, of_vertex))
        lacking = _missing(vertex_id, reported, of_vertex)
        missing += [lacking] if lacking.count > 0 else []
        unaligned += (
            [any(reported["subtask_unaligned"])]
            if reported["subtask_unaligned"] is not None
            else []
        )
        as_of = largest(as_of, *(row["observed_at"] for row in seen))
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
        missing=tuple(
            sorted(
                missing,
                key=lambda vertex: (vertex.vertex_id, vertex.count, vertex.indexes, vertex.hosts),
            )
        ),
        as_of=as_of,
    )


def is_last(row: Row) -> bool:
    """Whether its checkpoint had ended, or all its subtasks had acknowledged."""
    return is_final(row["status"]) or (
        row["subtasks"] is not None and row["acknowledged"] == row["subtasks"]
    )


def _has_durations(rows: Iterable[Row]) -> bool:
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
        (durations.subtask(place) for ms, durations, place in delays if ms == longest_ms),
        key=lambda subtask: subtask.slowness,
        default=None,
    )


def not_acknowledged(
    phases: CheckpointPhases, names: Names, subtasks: int | None, acknowledged: int | None
) -> list[dict[str, Any]] | None:
    if phases.missing:
        return [
            _entry(
                vertex.vertex_id,
                names.get(vertex.vertex_id),
                vertex.indexes,
                vertex.count,
                vertex.hosts,
            )
            | ({"late": vertex.late, "late_phase": vertex.late_phase} if vertex.late_phase else {})
            for vertex in phases.missing
        ]
    if (
        phases.missing is None
        and subtasks is not None
        and acknowledged is not None
        and subtasks > acknowledged
    ):
        return [_entry(None, None, (), subtasks - acknowledged, ())]
    return None


def _entry(
    vertex_id: str | None,
    name: str | None,
    indexes: Sequence[int],
    count: int,
    hosts: Sequence[str],
) -> dict[str, Any]:
    return {
        "vertex_id": vertex_id,
        "vertex_name": name,
        "subtasks": list(indexes),
        "count": count,
        "hosts": list(hosts),
    }


def order(row: Row) -> Any:
    return is_final(row["status"]), rank(row["acknowledged"]), rank(row["observed_at"])


def _missing(vertex_id: str, reported: dict[str, Any], hosts: Hosts) -> Missing:
    acknowledged_at = reported["subtask_ack_time"] or ()
    aborted = _aborted(reported)
    absent = (
        [index for index, at in enumerate(acknowledged_at) if at is None or index in aborted]
        if None in acknowledged_at or aborted
        else []
    )
    places = sorted({host for index in absent if (host := _host(hosts, index)) is not None})
    known = reported["subtasks"] is not None and reported["acknowledged"] is not None
    # Counts may come without subtasks, and from another instant: known subtasks take precedence.
    count = (
        len(absent)
        if acknowledged_at
        else reported["subtasks"] - reported["acknowledged"]
        if known
        else 0
    )
    return Missing(
        vertex_id,
        count,
        tuple(absent[:INDEXES_KEPT]),
        tuple(places[:HOSTS_KEPT]),
        *_late(reported, aborted),
    )


def _late(reported: Mapping[str, Any], aborted: Collection[int]) -> tuple[int, str | None]:
    """How many reported their part although it was aborted, and the longest phase of the slowest.
    Of an asynchronous part that was cut off Flink reports no duration: it had taken what the others
    leave of end-to-end.
    """
    columns = [reported[name] or () for name in _TIMES]
    known: list[list[Any]] = [
        times
        for index in aborted
        if (times := [values[index] if index < len(values) else None for values in columns])[0]
    ]
    if not known:
        return 0, None
    end_to_end, *phases = max(known, key=lambda times: (times[0] or 0, rank(times)))
    *before, asynchronous = phases
    if end_to_end is not None and asynchronous is None and None not in before:
        phases = [*before, max(end_to_end - sum(value or 0 for value in before), 0)]
    longest = max(range(len(PHASES)), key=lambda place: (phases[place] or 0, -place))
    return len(known), PHASES[longest] if phases[longest] else None


def _aborted(reported: Mapping[str, Any]) -> frozenset[int]:
    """Flink calls subtasks completed that reported to an aborted snapshot, but does not count an
    acknowledgement.
    """
    return frozenset(
        index for index, is_aborted in enumerate(reported["subtask_aborted"] or ()) if is_aborted
    )


def _host(hosts: Hosts, index: int) -> str | None:
    return hosts[index] if index < len(hosts) else None
