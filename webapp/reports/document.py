"""What a report says, as plain data: gathered once from the database, then drawn as a page, a file,
Markdown or JSON.

A document is complete: no renderer asks anybody anything. Texts are already cut, cleaned and
without secrets (:mod:`webapp.reports.texts`); instants are aware UTC; unknown is ``None``; ratios
are 0 … 1.

A new part is a field here; what fills it from rows (``gathering``) is bounded, and reports what was
cut; a number is counted by a query, never from rows that were cut. Its places are
``templates/reports/`` and ``renderers/markdown.py``. Raise ``VERSION`` where a field changes its
meaning.
"""

from dataclasses import dataclass, field
from datetime import datetime

from webapp.lib.checkpoint_point import CheckpointPoint
from webapp.lib.outage import Outage

VERSION = 1
"""Raised where a field changes its meaning or goes away; new fields do not raise it."""


@dataclass(frozen=True)
class Figure:
    """One line of evidence, as people read it."""

    name: str
    value: str
    compared: str = ""
    note: str = ""
    at: datetime | None = None


@dataclass(frozen=True)
class ReportedBug:
    """A known bug of Flink that explains a finding."""

    issue: str
    sentence: str
    way_out: str
    address: str


@dataclass(frozen=True)
class ReportedFinding:
    """One matter; ``path`` leads from the farthest vertex that is held back to the origin.

    ``number`` is the finding's id.
    """

    number: int
    cluster: str
    job_id: str
    job_name: str
    rule: str
    rule_title: str
    severity: str
    confidence: str
    subject_kind: str
    subject: str
    title: str
    cause: str
    next_step: str
    first_seen: datetime
    last_seen: datetime
    is_open: bool
    episodes: int = 1
    figures: tuple[Figure, ...] = ()
    path: tuple[str, ...] = ()
    excess_bytes: int | None = None
    known_bugs: tuple[ReportedBug, ...] = ()


@dataclass(frozen=True)
class Moment:
    """One line of the time line.

    ``tone`` is crit, warn, ok or done; ``until`` is the end of what lasted.
    """

    at: datetime
    kind: str
    tone: str
    title: str
    detail: str = ""
    until: datetime | None = None
    job_name: str = ""


@dataclass(frozen=True)
class ReportedCheckpoint(CheckpointPoint):
    """One checkpoint of the charts."""

    checkpointed_bytes: int | None = None


@dataclass(frozen=True)
class CheckpointFigures:
    """How checkpoints fared. ``longest_gap_ms`` is the longest time without a new recovery point,
    ``None`` where it cannot be known.

    It is also that from the start of the job to its first one (``gap_is_first``). ``wasted_bytes``
    were uploaded for checkpoints that failed; of ``wasted_unknown`` such it is unknown.
    ``by_hours`` says that single checkpoints are no longer kept and counts are those of whole
    hours.
    """

    settled: int = 0
    completed: int = 0
    failed: int = 0
    by_outcome: dict[str, int] = field(default_factory=dict)
    savepoints: int = 0
    interval_ms: int | None = None
    timeout_ms: int | None = None
    longest_gap_ms: float | None = None
    gap_from: datetime | None = None
    gap_to: datetime | None = None
    gap_is_first: bool = False
    wasted_bytes: int | None = None
    wasted_unknown: int = 0
    by_hours: bool = False


@dataclass(frozen=True)
class ReportedStart:
    """A start of which all tasks ran.

    ``parts``: (phase, ms). ``usual_ms``: median of earlier ones. ``held_up_by``: the slowest task.
    """

    at: datetime
    kind: str
    total_ms: int | None
    usual_ms: int | None
    parts: tuple[tuple[str, float], ...]
    tasks: int
    held_up_ms: int = 0
    held_up_by: str = ""


@dataclass(frozen=True)
class ReportedMissingFile:
    """A file that a restore did not find.

    ``snapshots`` need it. ``causes``: (what, verdict, why), best founded first.
    """

    path: str
    summary: str
    owner: str
    snapshots: int
    operators: tuple[str, ...]
    last_listed: datetime | None
    gone_by: datetime | None
    causes: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class PressureRow:
    """One vertex: ``(start of the window, back-pressured share, busy share)``, the largest
    subtask's median.
    """

    vertex: str
    cells: tuple[tuple[datetime, float | None, float | None], ...]


@dataclass(frozen=True)
class ChartMark:
    """What happened to the job, for its charts."""

    at: datetime
    kind: str
    label: str


@dataclass(frozen=True)
class LogExcerpt:
    """``more`` counts lines like it that are not shown."""

    at: datetime
    source: str
    level: str
    kind: str
    where: str
    text: str
    more: int = 0


@dataclass(frozen=True)
class Exception_:
    """An exception as the JobManager keeps it; ``more`` counts others of its name."""

    at: datetime
    name: str
    task: str
    host: str
    stacktrace: str
    more: int = 0


@dataclass(frozen=True)
class StoragePlace:
    """The job's directories below one root, by its newest audit.

    ``raw_bytes``: as often as HDFS stores them; None where unknown.
    """

    root: str
    as_of: datetime | None
    files: int
    bytes: int
    live_bytes: int
    retained_waste_bytes: int
    orphan_bytes: int
    missing_files: int
    raw_bytes: int | None = None


@dataclass(frozen=True)
class ReportedCounters:
    """Flink's own counters at one answer and what Weir knew then, where they differ: (name, count),
    unknown ones left out.
    """

    at: datetime
    flink: tuple[tuple[str, int], ...]
    weir: tuple[tuple[str, int], ...]
    why: str


@dataclass(frozen=True)
class Table:
    """A table of a digest or of a job: texts ready to be read; ``numeric`` are the places of
    columns that stand right.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    note: str = ""
    empty: str = ""

    def __post_init__(self) -> None:
        """Words of pages are texts only once they are shown; a document keeps those of whoever made
        it.
        """
        object.__setattr__(
            self, "rows", tuple(tuple(str(cell) for cell in row) for row in self.rows)
        )
        object.__setattr__(self, "note", str(self.note))


@dataclass(frozen=True)
class JobStory:
    """All that a report contains of one job.

    ``restarts`` are all of the time, ``outages`` and ``marks`` the newest.
    """

    cluster: str
    job_id: str
    name: str
    state: str
    flink_version: str
    parallelism: int | None
    started_at: datetime | None
    ended_at: datetime | None
    last_seen_at: datetime | None
    judged_at: datetime | None
    is_recording: bool
    restarts: int
    restored_from: str
    checkpoints: CheckpointFigures
    first_attempt_id: str = ""
    uploaded_bytes: int | None = None
    counters: ReportedCounters | None = None
    outages: tuple[Outage, ...] = ()
    starts: tuple[ReportedStart, ...] = ()
    missing_files: tuple[ReportedMissingFile, ...] = ()
    tables: tuple[Table, ...] = ()
    points: tuple[ReportedCheckpoint, ...] = ()
    marks: tuple[ChartMark, ...] = ()
    pressure: tuple[PressureRow, ...] = ()
    storage: tuple[StoragePlace, ...] = ()
    configuration: tuple[tuple[str, str], ...] = ()
    logs: tuple[LogExcerpt, ...] = ()
    exceptions: tuple[Exception_, ...] = ()


@dataclass(frozen=True)
class ReportedAlert:
    """One alert of these jobs; ``state`` is its state when the report was made."""

    uid: str
    rule: str
    severity: str
    title: str
    job_name: str
    state: str
    starts_at: datetime | None
    fired_at: datetime | None
    resolved_at: datetime | None
    acknowledged_by: str = ""
    acknowledged_at: datetime | None = None
    comment: str = ""
    firings: int = 1


@dataclass(frozen=True)
class Point:
    """One cause or one thing to do: ``lead`` in bold, then ``text``."""

    lead: str
    text: str


@dataclass(frozen=True)
class Kpi:
    """One figure of the first screen."""

    label: str
    value: str
    note: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Summary:
    """The first screen: what happened, when, why, what it cost, what to do.

    ``tone`` is crit, warn, ok or unknown.
    """

    tone: str
    headline: str
    happened: tuple[str, ...]
    when: str
    cause: tuple[Point, ...]
    impact: tuple[str, ...]
    actions: tuple[Point, ...]
    kpis: tuple[Kpi, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True)
class Day:
    """Checkpoints of a day, for the chart of a digest."""

    day: datetime
    completed: int
    failed: int


@dataclass(frozen=True)
class Source:
    """Where something in the report comes from, and how fresh it was."""

    name: str
    as_of: datetime | None
    note: str = ""


@dataclass(frozen=True)
class Document:
    """One report."""

    kind: str
    uid: str
    title: str
    made_at: datetime
    made_by: str
    start: datetime
    end: datetime
    summary: Summary
    from_alert: str = ""
    stories: tuple[JobStory, ...] = ()
    timeline: tuple[Moment, ...] = ()
    findings: tuple[ReportedFinding, ...] = ()
    alerts: tuple[ReportedAlert, ...] = ()
    tables: tuple[Table, ...] = ()
    days: tuple[Day, ...] = ()
    sources: tuple[Source, ...] = ()
    unknowns: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    version: int = VERSION
