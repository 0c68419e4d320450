"""What threads of vertices did that findings of the time name: busy, late with checkpoints, or slow
to snapshot; nothing is asked for.
"""

from collections.abc import Iterator

from ingest.messages import list_text, message
from webapp.findings.dumped_vertices import SLOW_SYNC, slow_vertex_of
from webapp.findings.models import Finding
from webapp.findings.sampled_vertices import BUSY, LATE, sampled_vertex_of
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import day_and_clock_text
from webapp.lib.quantities import UNKNOWN
from webapp.profiles.choices import FlameGraphState
from webapp.profiles.job_threads import JobThreads, ShownThread
from webapp.profiles.models import FlameGraph
from webapp.reports import texts
from webapp.reports.document import Table
from webapp.reports.gathering.scope import ReportScope

MOST_FINDINGS, MOST_VERTICES, MOST_OF_A_VERTEX = 50, 10, 3
_OFF = message(
    "Flame graphs are not switched on: rest.flamegraph.enabled: true, then a restart of the "
    "JobManager."
)
Row = tuple[str, ...]


def tables(job: JobCurrent, scope: ReportScope, dumped: JobThreads) -> Iterator[Table]:
    """One, the worst finding first: samples and dumps that were taken in the time of the report."""
    vertices = _vertices(job, scope)
    graphs = {
        row.vertex_id: row
        for row in FlameGraph.objects.filter(
            cluster=job.cluster, job_id=job.job_id, vertex_id__in=vertices
        ).defer("frames")
    }
    rows: list[Row] = []
    for vertex_id, name in vertices.items():
        if row := graphs.get(vertex_id):
            rows += [(name, *cells) for cells in _of_graph(row, scope)]
        rows += [(name, *cells) for cells in _of_dumps(vertex_id, scope, dumped)]
    if rows:
        columns = (
            message("Vertex"),
            message("By"),
            message("At (UTC)"),
            message("Subtasks"),
            message("Threads"),
        )
        note = message(
            "Of vertices that findings of this time name as busy, as late with checkpoints or as "
            "slow to snapshot."
        )
        yield Table(message("What busy vertices did"), columns, tuple(rows), (), note)


def _vertices(job: JobCurrent, scope: ReportScope) -> dict[str, str]:
    """Id → name."""
    names = {one["vertex_id"]: one.get("name") for one in (job.graph or {}).get("vertices") or ()}
    vertices: dict[str, str] = {}
    rows = Finding.objects.of_job(job.cluster, job.job_id).filter(
        rule__in=(BUSY, LATE, SLOW_SYNC), first_seen__lte=scope.end, last_seen__gte=scope.start
    )
    for finding in rows.worst_first().only("rule", "data", "subject")[:MOST_FINDINGS]:
        sampled = sampled_vertex_of(finding)
        vertex_id = sampled.vertex_id if sampled else slow_vertex_of(finding)
        if vertex_id and len(vertices) < MOST_VERTICES:
            vertices.setdefault(
                vertex_id,
                texts.name(names.get(vertex_id) or (sampled and sampled.name) or vertex_id),
            )
    return vertices


def _of_graph(row: FlameGraph, scope: ReportScope) -> Iterator[Row]:
    if row.sampled_at and scope.start <= row.sampled_at <= scope.end:
        subtask = "all" if row.subtask is None else str(row.subtask)
        yield (
            message("flame graph"),
            day_and_clock_text(row.sampled_at),
            subtask,
            texts.bounded(row.sentence),
        )
    elif row.state == FlameGraphState.OFF:
        yield message("flame graph"), UNKNOWN, UNKNOWN, _OFF


def _of_dumps(vertex_id: str, scope: ReportScope, dumped: JobThreads) -> Iterator[Row]:
    """What most of its threads did, alike ones as one."""
    alike: dict[tuple[str, str], list[ShownThread]] = {}
    for taskmanager in dumped.taskmanagers:
        if (
            taskmanager.row
            and taskmanager.row.taken_at
            and scope.start <= taskmanager.row.taken_at <= scope.end
        ):
            for thread in taskmanager.of_job:
                if thread.vertex_id == vertex_id:
                    alike.setdefault(
                        (thread.does, day_and_clock_text(taskmanager.row.taken_at)), []
                    ).append(thread)
    most: list[tuple[tuple[str, str], list[ShownThread]]] = sorted(
        alike.items(), key=lambda pair: -len(pair[1])
    )
    for (does, at), threads in most[:MOST_OF_A_VERTEX]:
        subtasks = sorted({thread.subtask for thread in threads if thread.subtask is not None})
        yield message("thread dump"), at, list_text(map(str, subtasks)), texts.bounded(does)
