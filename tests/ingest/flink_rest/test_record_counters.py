"""Record counters of subtasks, out of Flink's answers about a vertex."""

import pytest

from ingest.errors import Skipped
from ingest.flink_rest.payloads.vertices import record_counts
from ingest.records import VertexMetrics
from tests.ingest.recorded import reading, records


def subtask(index, **metrics):
    return {"subtask": index, "status": "RUNNING", "attempt": 0, "metrics": metrics}


def complete(read, written):
    return {
        "read-records": read,
        "read-records-complete": True,
        "write-records": written,
        "write-records-complete": True,
    }


@pytest.mark.parametrize("recording", ["1.12.5/G", "1.20.5/C2"])
def test_a_sample_has_the_counters_of_the_answer_and_its_instant(recording):
    filled = reading(recording)
    found = [record for record in records(filled)[0] if isinstance(record, VertexMetrics)]
    for sample in found:
        answer = filled.vertices[sample.vertex_id]
        told = [one["metrics"] for one in answer.body["subtasks"]]
        assert sample.counted_at == answer.at
        for column, name in (("records_in", "read-records"), ("records_out", "write-records")):
            assert list(getattr(sample, column)) == [
                one[name] if one[f"{name}-complete"] else None for one in told
            ]
    assert any(any(sample.records_in) for sample in found), "a recording in which something flows"


def test_what_is_not_complete_is_unknown_and_not_zero():
    half = {**complete(0, 7), "read-records-complete": False}
    assert record_counts({"subtasks": [subtask(0, **half), subtask(1)]}) == {
        0: {"records_in": None, "records_out": 7}
    }


def test_a_release_without_the_flags_tells_nothing():
    assert (
        record_counts(
            {"subtasks": [subtask(0, **{"read-records": 5, "write-records": 5}), {"subtask": 1}]}
        )
        == {}
    )


@pytest.mark.parametrize(
    "metrics",
    [[], {"read-records": "many", "read-records-complete": True}, {"read-records-complete": "yes"}],
)
def test_a_bad_shape_is_skipped_with_its_place(metrics):
    with pytest.raises(Skipped, match=r"subtasks\[0\]\.metrics"):
        record_counts({"subtasks": [{"subtask": 0, "metrics": metrics}]})
