"""Whatever is wrong with an answer, it costs a skip, never an exception, and never a row the lake
cannot take.
"""

import copy
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.flink_rest.answers import Answer, ClusterAnswers
from ingest.flink_rest.assembly import observe_cluster, observe_job
from ingest.flink_rest.job_reader import listed_jobs
from ingest.flink_rest.routing import file_cluster_answer
from ingest.lake.rows import group_by_table, to_arrow
from ingest.lake.tables import TABLES
from tests.ingest.recorded import answers, reading

SOURCES = ("1.12.5/G", "1.20.5/F", "1.20.5/J")
NUMBERS = [-1, 0, 1.5, 2**63 - 1, -(2**63), 2**64, 10**400, float("nan"), float("inf"), 1e308]
TEXTS = ["", "NaN", "x", "-1", "9" * 5000, "1e999", "\ud800", "\x00"]
NASTY = st.sampled_from(
    [None, True, *NUMBERS, *TEXTS, [], {}, [None], [[]], {"": {}}, [{"index": 10**9}], {"x": None}]
)
JSON = st.recursive(
    NASTY,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
PARTS = (
    "job", "plan", "config", "checkpoint_config", "checkpoints", "exceptions",
    "job_metrics", "details", "subtasks", "vertices", "metrics",
)  # fmt: skip


def rows_of(observed):
    """Written as the lake would write them; raises where a value does not fit its column."""
    return {
        name: to_arrow(TABLES[name], rows, 1).num_rows
        for name, rows in group_by_table(observed).items()
    }


def spoil(draw, body):
    """A copy of ``body`` with up to six values anywhere inside it replaced or removed."""
    spoiled = copy.deepcopy(body)
    for _ in range(draw(st.integers(1, 6))):
        spoiled = _spoil_once(draw, spoiled)
    return spoiled


def _spoil_once(draw, spoiled):
    holder, key, value = None, None, spoiled
    while isinstance(value, dict | list) and value and (holder is None or draw(st.integers(0, 5))):
        holder = value
        key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        value = holder[key]
    if holder is None:
        return copy.deepcopy(draw(JSON))
    if isinstance(holder, dict) and draw(st.integers(0, 3)) == 0:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(draw(JSON))
    return spoiled


def spoil_answer(draw, answer):
    return Answer(answer.path, answer.at, spoil(draw, answer.body))


@settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.data())
def test_a_job_with_any_one_part_spoiled_is_read_for_the_rest(data):
    filled = reading(data.draw(st.sampled_from(SOURCES)))
    whole = rows_of(observe_job(filled, "c", "rest"))
    part = data.draw(st.sampled_from(PARTS))
    place = getattr(filled, part)
    if part == "metrics":
        vertex_id = data.draw(st.sampled_from(sorted(place)))
        place[vertex_id] = [spoil_answer(data.draw, answer) for answer in place[vertex_id]]
    elif isinstance(place, dict):
        key = data.draw(st.sampled_from(sorted(place)))
        place[key] = spoil_answer(data.draw, place[key])
    elif place is not None:
        setattr(filled, part, spoil_answer(data.draw, place))
    found = rows_of(observe_job(filled, "c", "rest"))
    assert found["checkpoints"] >= whole["checkpoints"] - (13 if part == "checkpoints" else 1)
    assert found.get("jobs", 0) == 1 or part == "job"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_cluster_with_any_answer_spoiled_keeps_its_other_taskmanagers(data):
    cluster = ClusterAnswers()
    for answer in answers(data.draw(st.sampled_from(SOURCES))):
        file_cluster_answer(cluster, answer)
    before = rows_of(observe_cluster(cluster, "c"))["taskmanagers"]
    key = data.draw(st.sampled_from(sorted(cluster.taskmanager_details)))
    cluster.taskmanager_details[key] = spoil_answer(data.draw, cluster.taskmanager_details[key])
    cluster.taskmanagers = spoil_answer(data.draw, cluster.taskmanagers)
    assert rows_of(observe_cluster(cluster, "c"))["taskmanagers"] >= before - 1


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_any_overview_gives_jobs_or_skips(body):
    found, skips = listed_jobs(Answer("/jobs/overview", datetime(2026, 1, 1, tzinfo=UTC), body))
    assert found or skips or not body or body.get("jobs") in (None, [])


@pytest.mark.parametrize(
    "body", ["an incomplete JSON", 7, None, [], [[]], {"jobs": [{"jid": 3}]}, {"jobs": "x"}]
)
def test_an_overview_of_a_wrong_shape_says_so(body):
    found, skips = listed_jobs(Answer("/jobs/overview", datetime(2026, 1, 1, tzinfo=UTC), body))
    assert found == []
    assert skips[0].subject.startswith("/jobs/overview")
    assert skips[0].reason == "bad_payload"
