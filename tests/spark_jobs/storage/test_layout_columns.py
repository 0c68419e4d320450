"""Arrow finds the place of a path where Python's own expressions find it, whatever the path."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.storage.layout_columns import placed
from tests.storage_places import place_of

JOB, UUID = "0" * 31 + "a", "01234567-89ab-cdef-0123-456789abcdef"
PATHS = [
    f"s3://b/{JOB}/chk-12/_metadata",
    "s3://b/x/chk-7/_metadata",
    "/chk-3/_metadata",
    f"s3://b/{JOB}/chk-0012/{UUID}",
    f"s3://b/{JOB}/chk-99999999999999999999/{UUID}",
    f"s3://b/{JOB}/chk-9223372036854775807/_metadata",
    f"s3://b/{JOB}/chk-9223372036854775808/_metadata",
    f"/r/{JOB}/chk-1/._metadata.inprogress.{UUID}",
    f"file:/r/{JOB}/shared/{UUID}",
    f"/{JOB}/taskowned/{UUID}",
    f"hdfs://n/{JOB}/dstl/{UUID}",
    f"/r/{JOB}/shared/job_{JOB}_op_x_1_2/{UUID}",
    f"/r/{JOB}/taskowned/job_{JOB}_tm_y/{UUID}",
    f"/r/{JOB}/shared/op_x_attempt_0/db/{UUID}",
    f"/r/{JOB}/op_x_attempt_0/db/{UUID}",
    f"/r/{JOB}/op_{JOB}/{JOB}/op_x_attempt_0/db/{UUID}",
    "/r/savepoint-00000a-0123456789ab/x",
    "/chk-3/x",
    f"/r/{JOB}/shared/{UUID}\n",
    f"/ä/{JOB}/shared/{UUID}",
    f"/r/{JOB}/other\u2028",
    f"/r/{JOB}/{JOB}/x/y",
    f"/r/{JOB}",
    f"/r\n/{JOB}/shared/{UUID}",
    "",
]
PIECES = [
    JOB,
    UUID,
    "chk-4",
    "chk-",
    "_metadata",
    "shared",
    "taskowned",
    "dstl",
    "op_x_attempt_1/db",
    "savepoint-00000a-0123456789ab",
    "x\n",
    "é",
    "/",
    "//",
]
MADE = st.lists(st.sampled_from(PIECES), max_size=6).map("/".join)
paths = st.lists(
    st.one_of(st.sampled_from(PATHS), MADE.map("/r/".__add__), st.none()), min_size=1, max_size=30
)


@settings(max_examples=300, deadline=None)
@given(paths=paths)
def test_each_path_has_the_place_that_single_expressions_find(paths: list[str | None]) -> None:
    found = placed(pa.array(paths, pa.string()))
    for path, place, job_id, directory, number in zip(
        paths, *(column.to_pylist() for column in _ordered(found)), strict=True
    ):
        if path is None:
            assert (place, job_id, directory, number) == ("unknown", None, None, None)
            continue
        expected = place_of(path)
        too_large = expected.checkpoint_id is not None and expected.checkpoint_id >= 2**63
        assert (place, number) == (expected.place, None if too_large else expected.checkpoint_id)
        if expected.job_id or place != "unknown":
            assert job_id == expected.job_id
        assert (
            directory is None
            if job_id is None
            else directory is not None and directory.endswith(f"/{job_id}")
        )
        assert directory is None or path.startswith(directory)


def _ordered(found):
    return found.place, found.job_id, found.job_directory, found.checkpoint_id
