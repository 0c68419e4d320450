"""Phases of subtasks by DEBUG lines alone are those that the REST answers of the same recording
have.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.acceptance.recount import recount
from tests.fold.recorded import RECORDINGS
from tests.webapp.builders import cluster, fact, job
from tests.webapp.checkpoints.logged import served_events
from webapp.checkpoints.logged_parts import BACKEND_SYNC, KINDS, completed_by_log, logged_parts
from webapp.checkpoints.parts import SubtaskPart
from webapp.fleet.models import LogEvent
from webapp.lib.instants import epoch_ms

BACKEND = re.compile(
    r"/chk-(\d+), .*, synchronous part\) in thread Thread\[(.+) \((\d+)/\d+\)#0,5,Flink Task "
    r"Threads\] took (\d+) ms"
)


def names_of(recording: str) -> dict[str, str]:
    """Vertices of the one job as REST names them."""
    for line in (RECORDINGS / recording / "rest.jsonl").open(encoding="utf-8"):
        answer = json.loads(line)
        if re.fullmatch(r"/jobs/[0-9a-f]{32}", answer["path"]) and answer["status"] == 200:
            return {
                vertex["id"]: vertex["name"].replace("&gt;", ">")
                for vertex in answer["body"]["vertices"]
            }
    raise AssertionError("no job")


def at(epoch_ms: int) -> datetime:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC)


def both(recording: str) -> Iterator[tuple[SubtaskPart, dict]]:
    """Each subtask that completed its part, by the log and as REST answered."""
    names, events = names_of(recording), served_events(recording)
    for (job_id, number, trigger), known in recount(RECORDINGS / recording).items():
        lines = [event for event in events[job_id, number] if event["kind"] in KINDS]
        parts = {
            (part.vertex_id, part.subtask): part for part in logged_parts(lines, at(trigger), names)
        }
        for vertex, subtasks in known.subtasks.items():
            for subtask in subtasks:
                if subtask["status"] == "completed":
                    yield parts[vertex, subtask["index"]], subtask


@pytest.mark.parametrize(
    ("recording", "compared"),
    [("1.20.5/A", 190), ("1.20.5/F", 80), ("1.20.5/K", 225), ("1.12.5/G", 144)],
)
def test_phases_by_the_log_are_those_that_rest_answered(recording: str, compared: int) -> None:
    pairs = list(both(recording))
    assert len(pairs) == compared
    for part, rest in pairs:
        assert (part.alignment_ms, part.async_ms) == (
            rest["alignment"]["duration"],
            rest["checkpoint"]["async"],
        )
    # A line is written a little after what it tells of, which on the busy machine of the recordings
    # was up to a tenth of a second.
    for name, of_rest in (
        ("start_delay_ms", lambda rest: rest["start_delay"]),
        ("sync_ms", lambda rest: rest["checkpoint"]["sync"]),
        ("end_to_end_ms", lambda rest: rest["end_to_end_duration"]),
    ):
        late = sorted(getattr(part, name) - of_rest(rest) for part, rest in pairs)
        assert late[len(late) // 2] in (0, 1), name
        assert late[len(late) * 9 // 10] <= 10 and late[0] >= -15 and late[-1] <= 150, (
            name,
            late[0],
            late[-1],
        )


def test_where_only_backends_log_their_part_it_is_the_synchronous_one() -> None:
    expected: dict[tuple[int, str, int], int] = defaultdict(int)
    for log in (RECORDINGS / "1.20.5/A/logs").glob("*taskexecutor*"):
        for number, task, subtask, took in BACKEND.findall(log.read_text("utf-8")):
            expected[int(number), task, int(subtask) - 1] += int(took)
    assert sum(expected.values()) > 1_000
    found = {}
    for (_, number), events in served_events("1.20.5/A").items():
        for part in logged_parts(
            [event for event in events if event["kind"] == BACKEND_SYNC], at(0), {}
        ):
            assert (part.start_delay_ms, part.async_ms, part.end_to_end_ms) == (None, None, None)
            found[number, part.vertex_name, part.subtask] = part.sync_ms
    assert found == expected


def test_of_subtasks_that_never_acknowledged_the_log_tells_what_rest_does_not() -> None:
    """Of what REST answered nothing is replaced but gaps."""
    names, events, filled = names_of("1.20.5/F"), served_events("1.20.5/F"), 0
    for (job_id, number, trigger), known in recount(RECORDINGS / "1.20.5/F").items():
        logged = logged_parts(
            [event for event in events[job_id, number] if event["kind"] in KINDS],
            at(trigger),
            names,
        )
        silent = [
            SubtaskPart(vertex, vertex, subtask["index"], *[None] * 10)
            for vertex, subtasks in known.subtasks.items()
            for subtask in subtasks
            if subtask["status"] != "completed"
        ]
        for part in completed_by_log(
            silent,
            [
                one
                for one in logged
                if (one.vertex_id, one.subtask) in {(s.vertex_id, s.subtask) for s in silent}
            ],
        ):
            assert part.is_silent
            filled += part.source == "rest and log" and part.start_delay_ms is not None
    assert filled


@pytest.mark.django_db
def test_the_page_shows_them_from_the_log(viewer) -> None:
    """Nothing of this checkpoint is in the lake: it is as where REST forgot it."""
    ((job_id, number, trigger), known) = next(
        (key, known) for key, known in recount(RECORDINGS / "1.20.5/A").items() if key[1] == 5
    )
    names = names_of("1.20.5/A")
    now = timezone.now()
    cluster(at=now)
    graph = {
        "vertices": [
            {"vertex_id": vertex, "name": name, "parallelism": 2} for vertex, name in names.items()
        ],
        "edges": [],
    }
    of = job(at=now, job_id=job_id, graph=graph)
    one = fact(of, number, at(trigger))
    columns = {field.name for field in LogEvent._meta.concrete_fields} - {"id", "cluster", "job_id"}
    LogEvent.objects.bulk_create(
        LogEvent(
            cluster=of.cluster,
            job_id=job_id,
            as_of=now,
            **{name: value for name, value in event.items() if name in columns - {"as_of"}},
        )
        for event in served_events("1.20.5/A")[job_id, number]
    )
    shown = viewer.get(
        reverse("checkpoint", args=(of.cluster, job_id, number, epoch_ms(one.trigger_time)))
    )
    text = shown.content.decode()
    subtasks = [
        (vertex, subtask) for vertex, of_vertex in known.subtasks.items() for subtask in of_vertex
    ]
    assert text.count('<span class="chip">from the log</span></td>') == len(subtasks) == 10
    rest = {
        (vertex, subtask["index"]): subtask["checkpoint"]["async"] for vertex, subtask in subtasks
    }
    assert {
        (part.vertex_id, part.subtask): part.async_ms for part in shown.context["parts"]
    } == rest
    assert {phase: ms for phase, _, ms in shown.context["logged"]}["async"] == max(rest.values())
    assert not {event.kind for event in shown.context["events"]} & set(KINDS)
