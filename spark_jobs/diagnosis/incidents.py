"""Groups findings of one cause into incidents, in any order of arrival. Two findings near in time
belong together if one follows from the other in one job, or if they are of one rule and about one
subject or one broken thing. Clusters are kept apart: host names repeat, and people may see only
some clusters.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from spark_jobs.diagnosis.consequences import CONSEQUENCES

MIN_REACH = timedelta(minutes=5)
"""A consequence may be judged minutes before or after its cause."""
RECURS_WITHIN = timedelta(minutes=15)
"""Longer than the hold of alerts: an alert that flaps is one incident."""
MOST_COMPARED = 200


@dataclass(frozen=True, slots=True)
class Trace:
    """What may connect findings. ``vertices``: ids; ``shared``: broken things that other jobs may
    also name; ``causes``: codes of failure causes.
    """

    vertices: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    causes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class IncidentFinding:
    """``job``: the same for all ids of a job. ``rank``: of the severity, highest for the worst.
    ``lasts``: the hold time of the rule.
    """

    key: int
    cluster: str
    job: str
    rule: str
    subject_id: str
    first_seen: datetime
    last_seen: datetime
    rank: int = 2
    is_open: bool = False
    lasts: timedelta = MIN_REACH
    trace: Trace = field(default_factory=Trace)

    def is_near(self, other: "IncidentFinding", least: timedelta = MIN_REACH) -> bool:
        return self.first_seen <= other.reaches(least) and other.first_seen <= self.reaches(least)

    def reaches(self, least: timedelta) -> datetime:
        return self.last_seen + max(self.lasts, least)


def trace_of(rule: str, subject_kind: str, subject_id: str, data: Mapping[str, Any]) -> Trace:
    return Trace(
        frozenset(_vertices(rule, subject_kind, subject_id, data)),
        frozenset(_shared_names(rule, data)),
        frozenset(_texts([data.get("cause"), *_names(data.get("causes"))])),
    )


def connecting_causes(rule: str, data: Mapping[str, Any]) -> frozenset[str]:
    """Causes by which an open finding may join others, without lost TaskManagers."""
    if rule == "restart.loop" and isinstance(groups := data.get("groups"), Mapping):
        return frozenset(map(str, groups))
    if rule == "checkpoint.declined" and data.get("reason"):
        return frozenset({str(data["reason"])})
    return frozenset()


def follows(consequence: IncidentFinding, cause: IncidentFinding) -> bool:
    tie = CONSEQUENCES.get(cause.rule, {}).get(consequence.rule)
    if (
        tie is None
        or not cause.job
        or (cause.cluster, cause.job) != (consequence.cluster, consequence.job)
    ):
        return False
    if tie == "job":
        return cause.is_near(consequence)
    attribute = "vertices" if tie == "vertex" else "causes"
    common = getattr(cause.trace, attribute) & getattr(consequence.trace, attribute)
    return bool(common) and cause.is_near(consequence)


def belong_together(finding: IncidentFinding, other: IncidentFinding) -> bool:
    if finding.cluster != other.cluster:
        return False
    if finding.rule != other.rule:
        return follows(finding, other) or follows(other, finding)
    if (finding.job, finding.subject_id) == (other.job, other.subject_id):
        return finding.is_near(other, RECURS_WITHIN)
    return bool(finding.trace.shared & other.trace.shared) and finding.is_near(other)


def incidents(
    findings: Iterable[IncidentFinding], known: Mapping[int, Hashable] | None = None
) -> list[frozenset[int]]:
    """The keys of each incident's findings, smallest first. ``known``: incidents by key of finding;
    findings of one known incident stay together.
    """
    rows = sorted(
        {finding.key: finding for finding in findings}.values(), key=lambda finding: finding.key
    )
    groups = _Groups([row.key for row in rows])
    first_keys: dict[Hashable, int] = {}
    for finding in rows:
        incident = (known or {}).get(finding.key)
        if incident is not None:
            groups.join(finding.key, first_keys.setdefault(incident, finding.key))
    for candidates in _comparable(rows):
        candidates.sort(key=lambda finding: finding.first_seen)
        for index, finding in enumerate(candidates):
            for other in candidates[index + 1 :]:
                if other.first_seen > finding.reaches(RECURS_WITHIN):
                    break
                if groups.root(finding.key) != groups.root(other.key) and belong_together(
                    finding, other
                ):
                    groups.join(finding.key, other.key)
    return groups.all()


def cause_of(members: Collection[IncidentFinding]) -> IncidentFinding:
    """The finding that most others follow from; among equals an open one, then the worst, then the
    first. ``members``: at least one.
    """
    newest = sorted(members, key=lambda member: (member.last_seen, member.key))[-MOST_COMPARED:]
    consequences = {
        finding.key: [other for other in newest if other is not finding and follows(other, finding)]
        for finding in newest
    }
    keys_with_cause = {other.key for findings in consequences.values() for other in findings}
    counts = {
        finding.key: len(_reachable(finding, consequences))
        for finding in newest
        if finding.key not in keys_with_cause
    }
    without_cause = [finding for finding in newest if finding.key in counts]
    return min(
        without_cause,
        key=lambda finding: (
            -counts[finding.key],
            not finding.is_open,
            -finding.rank,
            finding.first_seen,
            finding.key,
        ),
    )


def in_order_of_cause(members: Collection[IncidentFinding]) -> list[IncidentFinding]:
    cause = cause_of(members)
    depth = _depths(members)
    return sorted(
        members,
        key=lambda member: (
            member is not cause,
            depth[member.rule],
            -member.rank,
            member.first_seen,
            member.key,
        ),
    )


class _Groups:
    """Disjoint sets of keys (union-find); the root of a set is its smallest key."""

    def __init__(self, keys: Sequence[int]) -> None:
        self._parent = {key: key for key in keys}

    def root(self, key: int) -> int:
        while self._parent[key] != key:
            self._parent[key] = key = self._parent[self._parent[key]]
        return key

    def join(self, key: int, other: int) -> None:
        low, high = sorted((self.root(key), self.root(other)))
        self._parent[high] = low

    def all(self) -> list[frozenset[int]]:
        groups: dict[int, set[int]] = {}
        for key in self._parent:
            groups.setdefault(self.root(key), set()).add(key)
        return [frozenset(groups[least]) for least in sorted(groups)]


def _comparable(rows: Sequence[IncidentFinding]) -> Iterable[list[IncidentFinding]]:
    """Findings of one job, and those of one rule that name one broken thing."""
    groups: dict[tuple[str, ...], list[IncidentFinding]] = {}
    for row in rows:
        groups.setdefault(("job", row.cluster, row.job), []).append(row)
        for name in row.trace.shared:
            groups.setdefault(("shared", row.cluster, row.rule, name), []).append(row)
    return (findings for findings in groups.values() if len(findings) > 1)


def _reachable(
    cause: IncidentFinding, consequences: Mapping[int, list[IncidentFinding]]
) -> set[int]:
    reached: set[int] = set()
    waiting = list(consequences[cause.key])
    while waiting:
        finding = waiting.pop()
        if finding.key not in reached:
            reached.add(finding.key)
            waiting += consequences[finding.key]
    return reached


def _depths(members: Iterable[IncidentFinding]) -> dict[str, int]:
    """Rule → the largest number of rules in a row that lead to it."""
    rules = {member.rule for member in members}
    depths: dict[str, int] = {}

    def depth(rule: str) -> int:
        if rule not in depths:
            causes = [
                cause for cause, led_to in CONSEQUENCES.items() if rule in led_to and cause in rules
            ]
            depths[rule] = 1 + max((depth(cause) for cause in causes), default=-1)
        return depths[rule]

    return {rule: depth(rule) for rule in sorted(rules)}


def _vertices(
    rule: str, subject_kind: str, subject_id: str, data: Mapping[str, Any]
) -> Iterable[str]:
    if subject_kind == "vertex":
        yield subject_id
    held_by = data.get("held_by")
    if isinstance(held_by, Mapping):
        # Slow or late vertices only waited for the holder of the barrier.
        yield from _texts([held_by.get("vertex_id")])
    elif rule.startswith("checkpoint."):
        rows = [*_rows(data.get("slowest")), *_rows(data.get("not_acknowledged"))]
        yield from _texts([row.get("vertex_id") for row in rows])


def _shared_names(rule: str, data: Mapping[str, Any]) -> Iterable[str]:
    if rule in ("restart.loop", "restart.taskmanager_lost"):
        yield from (f"taskmanager {name}" for name in _texts(data.get("lost_taskmanagers")))
    elif rule == "checkpoint.declined":
        hosts = {row.get("host") for row in _rows(data.get("declines"))}
        host = hosts.pop() if len(hosts) == 1 else None
        if host and data.get("reason"):
            yield f"host {host} {data['reason']}"
    elif rule == "restore.missing_file":
        paths = _texts([row.get("path") for row in _rows(data.get("files"))])
        yield from (f"file {path}" for path in paths)
    elif rule == "store.faults":
        yield from _texts([data.get("shared")])
    elif rule == "collect.blind":
        yield "cluster"


def _names(mapping: Any) -> Iterable[Any]:
    return mapping if isinstance(mapping, Mapping) else ()


def _texts(values: Any) -> list[str]:
    return [value for value in _items(values) if isinstance(value, str) and value]


def _rows(values: Any) -> list[Mapping[str, Any]]:
    return [value for value in _items(values) if isinstance(value, Mapping)]


def _items(values: Any) -> Iterable[Any]:
    return values if isinstance(values, list | tuple) else ()
