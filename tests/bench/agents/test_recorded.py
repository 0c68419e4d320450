"""What is asked of recordings, held against their raw answers."""

import json
import re

import pytest

from tests.bench.agents.questions import QUESTIONS, Question
from tests.bench.agents.raw_tools import RawTools
from tests.bench.agents.recorded import FIXTURES, Recorded, recorded

PLACED = [one for one in QUESTIONS if one.host and one.subtask is not None]


def hosts(past: Recorded, job: str, vertex: str) -> list[str]:
    """By subtask, as Flink answered last."""
    newest = {one["path"]: one["body"] for one in past.answers if one["status"] == 200}
    for path, body in newest.items():
        if re.fullmatch("/jobs/[0-9a-f]{32}", path) and job in ("", body["name"]):
            for one in body["vertices"]:
                if one["name"] == vertex:
                    subtasks = newest[f"{path}/vertices/{one['id']}"]["subtasks"]
                    told = [(task.get("endpoint") or task["host"]) for task in subtasks]
                    return [host.partition(":")[0] for host in told]
    raise AssertionError(f"Flink did not tell of {vertex}")


@pytest.mark.parametrize("question", PLACED, ids=lambda one: f"{one.recording} {one.job}")
def test_a_host_that_is_to_be_named_is_where_flink_ran_the_subtask(question: Question) -> None:
    past = recorded(question.recording, question.after_s)
    assert question.subtask is not None
    found = hosts(past, past.others.get(question.job, ""), question.vertex)
    assert found[question.subtask] == question.host


def test_every_recording_that_is_asked_of_is_there() -> None:
    assert [one for one in QUESTIONS if not (FIXTURES / one.recording / "logs").is_dir()] == []


@pytest.mark.parametrize(
    ("recording", "telling"),
    [("incidents/2.3.0/slow-sync", "slow-sync"), ("recordings/1.20.5/I", "lab-I-")],
)
def test_no_name_tells_the_incident(recording: str, telling: str) -> None:
    past = recorded(recording)
    assert past.answers and past.logs
    assert telling not in json.dumps(past.answers) + "".join(past.logs.values())


def test_what_came_after_the_question_is_not_told() -> None:
    past = recorded("incidents/1.20.5/burst", after_s=60)
    assert past.answers[-1]["ts"] - past.answers[0]["ts"] <= 60
    stamp = past.at.strftime("%Y-%m-%d %H:%M:%S")
    lines = "".join(past.logs.values()).splitlines()
    assert max(line[:19] for line in lines if line.startswith("20")) <= stamp


def test_flinks_answers_and_logs_are_told_as_they_were() -> None:
    tools = RawTools(recorded("recordings/1.20.5/E"))
    overview, is_error = tools.call("rest", {"path": "/jobs/overview"})
    (job,) = json.loads(overview["body"])["jobs"]
    assert (job["state"], is_error) == ("RUNNING", False)
    told, is_error = tools.call("rest", {"path": f"/jobs/{job['jid']}/check"})
    assert is_error and f"/jobs/{job['jid']}/checkpoints" in told["known"]
    assert "Decline checkpoint 3 " in tools.call("logs", {"texts": "x?y|Decline"})[0]["lines"]


@pytest.mark.parametrize(
    "wrong", [("rest", {}), ("rest", None), ("logs", {"texts": 3}), (["x"], {})]
)
def test_a_call_that_no_raw_tool_takes_is_an_error(wrong: tuple[object, object]) -> None:
    assert RawTools(recorded("incidents/2.3.0/main-throws")).call(*wrong)[1]
