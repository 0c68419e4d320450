import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from typing import Any

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.findings import Finding, Limits, Unknown
from spark_jobs.diagnosis.plain import finding_to_plain, recovery_point_from_plain
from spark_jobs.diagnosis.samples import JobWindow, RecoveryPoint
from spark_jobs.diagnosis.window_contents import WINDOW_MS
from spark_jobs.fold.rows import first_known

logger = logging.getLogger(__name__)

Scoped = Mapping[str, Any]
"""``key``, ``value``, and their scope: ``cluster`` and ``job_id``, empty for all. With
``job_name``, also later ids of that job.
"""

COLUMNS = tuple(field.name for field in fields(Finding) if not field.name.endswith("_ms"))
MOST_RUNS = 500


@dataclass
class Settings:
    """Overrides of thresholds (the narrowest scope counts) and recovery points by audits: newest
    retained checkpoints that are incomplete. Invalid overrides are logged and ignored.
    """

    overrides: InitVar[Sequence[Scoped]] = ()
    recovery_points: InitVar[Sequence[Scoped]] = ()
    _overrides: dict[tuple[str, str], list[Scoped]] = field(default_factory=dict)
    _job_ids: dict[tuple[str, str], str] = field(default_factory=dict)
    """(cluster, job name) → the job id under which overrides of the name are kept."""
    _limits: dict[tuple[str, str], Limits] = field(default_factory=dict)
    _points: dict[tuple[str, str], RecoveryPoint] = field(default_factory=dict)

    def __post_init__(self, overrides: Sequence[Scoped], recovery_points: Sequence[Scoped]) -> None:
        for override in overrides:
            cluster, job_id = override.get("cluster") or "", override.get("job_id") or ""
            if name := override.get("job_name"):
                job_id = self._job_ids.setdefault((cluster, str(name)), job_id)
            self._overrides.setdefault((cluster, job_id), []).append(override)
        for point in recovery_points:
            job = str(point["cluster"]), str(point["job_id"])
            self._points[job] = recovery_point_from_plain(point)

    def limits(self, cluster: str, job_id: str, name: str | None = None) -> Limits:
        """Overrides by the job's ``name`` survive a new job id."""
        by_name = self._job_ids.get((cluster, name), job_id) if name else job_id
        scopes = ((cluster, job_id), (cluster, by_name), (cluster, ""))
        scope = next((scope for scope in scopes if scope in self._overrides), ("", ""))
        if scope not in self._limits:
            self._limits[scope] = self._make_limits(*scope)
        return self._limits[scope]

    def recovery_point(self, cluster: str, job_id: str) -> RecoveryPoint | None:
        return self._points.get((cluster, job_id))

    def _make_limits(self, cluster: str, job_id: str) -> Limits:
        values: dict[str, float] = {}
        for scope in dict.fromkeys((("", ""), (cluster, ""), (cluster, job_id))):
            for override in self._overrides.get(scope, ()):
                limit = {str(override["key"]): float(override["value"])}
                try:
                    registry.limits(limit)
                except ValueError as error:
                    logger.warning("A threshold is left out: %s", error)
                else:
                    values |= limit
        return registry.limits(values)


def judged(
    windows: Sequence[JobWindow], limits: Limits, point: RecoveryPoint | None = None
) -> dict[str, Any]:
    """``job_judgement`` of ``windows``, in order. ``occurrences``: ``finding_occurrence`` rows."""
    occurrences: dict[tuple[str, str, int], dict[str, Any]] = {}
    unknowns: tuple[Unknown, ...] = ()
    for window in windows:
        diagnosis = registry.diagnose(with_recovery_point(window, point), limits)
        unknowns = diagnosis.unknowns
        for finding in diagnosis.findings:
            # A rule should have one finding per subject and window; a second one is dropped.
            occurrences.setdefault(
                (finding.rule, finding.subject_id, window.window_start_ms),
                _occurrence(finding, window),
            )
    return {
        "judged_to": windows[-1].at_ms,
        "windows": runs([window.window_start_ms for window in windows]),
        "unknowns": [{"rule": unknown.rule, "missing": unknown.missing} for unknown in unknowns],
        "occurrences": list(occurrences.values()),
    }


def with_recovery_point(window: JobWindow, point: RecoveryPoint | None) -> JobWindow:
    return (
        window
        if point is None or point.audited_at_ms > window.at_ms
        else replace(window, recovery_point=point)
    )


def _occurrence(finding: Finding, window: JobWindow) -> dict[str, Any]:
    plain = finding_to_plain(finding)
    seen_at_ms = min(int(plain["seen_at_ms"]), window.at_ms)
    began_at_ms = first_known(
        finding.began_at_ms, max(window.window_start_ms, window.start_time_ms or 0)
    )
    instants = {
        "window_start": window.window_start_ms,
        "began_at": min(seen_at_ms, began_at_ms),
        "seen_at": seen_at_ms,
        "as_of": window.at_ms,
    }
    return {"job_name": window.job_name, **{name: plain[name] for name in COLUMNS}, **instants}


def runs(starts_ms: Sequence[int]) -> list[dict[str, int]]:
    """First and last start (epoch seconds) of consecutive windows."""
    return joined({"first": start // 1000, "last": start // 1000} for start in starts_ms)


def joined(spans: Iterable[Mapping[str, int]]) -> list[dict[str, int]]:
    """The spans in order; adjacent minutes become one span."""
    groups: list[dict[str, int]] = []
    for span in sorted(spans, key=lambda span: span["first"]):
        if groups and span["first"] <= groups[-1]["last"] + WINDOW_MS // 1000:
            groups[-1]["last"] = max(groups[-1]["last"], span["last"])
        else:
            groups.append({"first": span["first"], "last": span["last"]})
    return groups[-MOST_RUNS:]
