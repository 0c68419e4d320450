"""The life of a request for a flame graph: wanted, asked by collect cycles until Flink has sampled,
kept until the next one.

Flink samples a vertex for about five seconds once it was asked, and keeps what it has for a minute.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from ingest.flink_rest.flame_graphs import GRAPHS_PER_CYCLE, FlameGraphAnswer
from ingest.flink_rest.payloads.flame_graph import FlameGraph as SampledFlameGraph
from ingest.redaction.texts import redact
from ingest.sources import WantedFlameGraph
from spark_jobs.diagnosis.flame_graphs import Frame, busiest
from webapp.fleet import asked_of_flink
from webapp.profiles.choices import FlameGraphState as State
from webapp.profiles.models import FlameGraph

NOT_BEFORE = timedelta(minutes=5)
"""After an answer: what is asked more often costs the tasks more than it is worth."""
AGAIN_AFTER = {State.SAMPLING: timedelta(seconds=8), State.FAILED: timedelta(seconds=30)}
MOST_REQUESTS = {State.SAMPLING: 12, State.FAILED: 3}
MOST_FRAMES = 2_000
_NAME_CHARS = 300


def want(
    cluster: str,
    job_id: str,
    vertex_id: str,
    now: datetime,
    by: str = "",
    subtask: int | None = None,
) -> bool:
    """Whether it will be asked for now; False where it is already, or was answered less than
    ``NOT_BEFORE`` ago.
    """
    key = {"cluster": cluster, "job_id": job_id, "vertex_id": vertex_id}
    return asked_of_flink.want(FlameGraph, key, now, by, NOT_BEFORE, wanted_subtask=subtask)


def wanted_of(clusters: Iterable[str], now: datetime) -> dict[str, tuple[WantedFlameGraph, ...]]:
    """By cluster what is due, who waits longest first."""
    due = asked_of_flink.due(
        FlameGraph, ("job_id", "vertex_id", "wanted_subtask"), clusters, now, GRAPHS_PER_CYCLE
    )
    return {
        cluster: tuple(WantedFlameGraph(*graph) for graph in graphs)
        for cluster, graphs in due.items()
    }


def keep(cluster: str, requested: Sequence[FlameGraphAnswer]) -> None:
    """What became of the requests of a cycle."""
    for answer in requested:
        key = {
            "cluster": cluster,
            "job_id": answer.wanted.job_id,
            "vertex_id": answer.wanted.vertex_id,
        }
        row = FlameGraph.objects.filter(**key).only("pk", "asked").first()
        if row is not None:
            FlameGraph.objects.filter(pk=row.pk).update(**_answered(answer, row.asked + 1))


def _answered(answer: FlameGraphAnswer, requested: int) -> dict[str, object]:
    state = State(answer.graph.state.value) if answer.graph else State.FAILED
    values: dict[str, object] = {
        "state": state,
        "asked": requested,
        "ask_at": None,
        "answered_at": answer.at,
        "note": redact(answer.error),
    }
    if state in AGAIN_AFTER:
        if requested < MOST_REQUESTS[state]:
            return values | {"ask_at": answer.at + AGAIN_AFTER[state]}
        if state == State.SAMPLING:
            return values | {
                "state": State.FAILED,
                "note": f"Flink was asked {requested} times and had not sampled it yet.",
            }
    if answer.graph and state == State.SAMPLED:
        values |= _shown(answer.graph, answer.subtask)
    return values


def _shown(graph: SampledFlameGraph, subtask: int | None) -> dict[str, object]:
    """The figures are those of the whole graph, the frames its largest."""
    frames = [
        Frame(frame.depth, redact(frame.name)[:_NAME_CHARS], frame.samples)
        for frame in graph.frames
    ]
    flames = busiest(frames)
    largest = sorted(range(len(frames)), key=lambda place: (-frames[place].samples, place))[
        :MOST_FRAMES
    ]
    return {
        "sampled_at": graph.sampled_at,
        "subtask": subtask,
        "samples": flames.samples,
        "method": flames.method or "",
        "method_samples": flames.in_method if flames.method else None,
        "sentence": flames.sentence,
        # A frame holds at least as many samples as each below it, and comes before it: so no frame
        # is kept without those above it.
        "frames": [list(frames[place]) for place in sorted(largest)],
        "frames_left_out": len(frames) - len(largest),
    }
