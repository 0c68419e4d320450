"""Inline thresholds against a recount of the handles, stream by stream, and against what a
threshold of 0 left in the lab.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.filesystem_calls.checkpoint_files import KEPT, checkpoint_streams
from spark_jobs.filesystem_calls.inlining import (
    Inlined,
    inlined,
    inlined_at,
    knee,
)
from tests.played_calls import metadata_rows

SIZES = st.one_of(st.integers(1, 60_000), st.sampled_from((20_480, 20_481, 1 << 20, (1 << 20) + 1)))
STREAMS = st.lists(
    st.tuples(st.sampled_from(("managed-op", "keygroups")), st.integers(0, 3), SIZES), max_size=30
)
NOTHING = dict.fromkeys(
    (
        "handle_id",
        "backend_id",
        "offset_bytes",
        "local_name",
        "checkpointed_bytes",
        "inline_at",
        "name",
    )
)


def rows_of(streams, threshold):
    """As a job with this threshold writes them."""
    for number, (kind, subtask, size) in enumerate(streams):
        of = NOTHING | {
            "kind": kind,
            "operator_id": "a" * 32,
            "subtask": subtask,
            "size_bytes": size,
            "path": None,
        }
        yield of | (
            {"inline_at": number + 1}
            if size <= threshold
            else {"path": f"hdfs://nn/c/job/chk-7/{number}"}
        )


@settings(max_examples=60, deadline=None)
@given(STREAMS, st.integers(0, 1 << 20), st.integers(1, 5))
def test_every_threshold_comes_to_what_a_job_with_that_threshold_writes(streams, now, retained):
    files = checkpoint_streams(rows_of(streams, now), "hdfs://nn/c/job/chk-7")
    for one in (*inlined(files, retained), inlined_at(files, retained, 12_345)):
        inline = [size for _kind, _subtask, size in streams if size <= one.threshold_bytes]
        assert one.files == len(streams) - len(inline)
        assert one.heap_bytes == sum(inline) * (retained + 1)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**4)), min_size=1, max_size=20))
def test_the_knee_is_the_point_farthest_from_the_line_between_both_ends(points):
    heap, count = sorted(one[0] for one in points), sorted((one[1] for one in points), reverse=True)
    curve = [
        Inlined(at, files, bytes_)
        for at, (files, bytes_) in enumerate(zip(count, heap, strict=True))
    ]
    found = knee(curve)
    if len(curve) < 3 or heap[0] == heap[-1] or count[0] == count[-1]:
        assert found is None
        return
    a, b = np.array([0.0, 1.0]), np.array([1.0, 0.0])

    def below(one):
        point = np.array(
            [
                (one.heap_bytes - heap[0]) / (heap[-1] - heap[0]),
                (one.files - count[-1]) / (count[0] - count[-1]),
            ]
        )
        offset, along = point - a, (b - a) / math.sqrt(2)
        return float(offset[1] * along[0] - offset[0] * along[1]) * -1

    farthest = max(map(below, curve))
    if found is None:
        assert farthest <= 1e-9
    else:
        assert below(found) == pytest.approx(farthest)


def test_with_a_threshold_of_zero_every_state_of_a_task_is_in_a_file_and_20_kb_would_leave_few(
    tmp_path,
):
    """``counted-small`` was played with 0; what would remain at 20 kB are its streams that are
    larger, by the rows themselves.
    """
    for file, rows in metadata_rows("1.20.5/counted-small", tmp_path).values():
        files = checkpoint_streams(rows, file.directory)
        curve = inlined(files, 6)
        written = files["written"] != KEPT
        assert curve[0].files == int((files["in_file"] & written).sum())
        larger = {row["path"] for row in rows if row["path"] and row["size_bytes"] > 20_480}
        at_default = inlined_at(files, 6, 20_480)
        assert at_default.files <= len(larger) < curve[0].files
        assert (found := knee(curve)) and found.files < curve[0].files


def test_where_files_are_merged_there_is_no_threshold(tmp_path):
    for file, rows in metadata_rows("2.3.0/counted-merged", tmp_path).values():
        files = checkpoint_streams(rows, file.directory)
        assert inlined(files, 6) == []
