"""Where in Flink's layout a path lies, for every kind of place and for names that only look
alike.
"""

import pytest

from ingest.storage.layout import CANDIDATES, UNKNOWN, UNOWNED
from tests.storage_places import Placed, place_of

JOB = "0e0a9226e66450b804703de8c16027eb"
FILE = "16f0932d-5966-40c8-9002-deb9f42c48d5"
ROOT = "s3://bucket/ckpt"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{JOB}/chk-14/_metadata", Placed("metadata", JOB, 14)),
        (f"{JOB}/chk-14/{FILE}", Placed("exclusive", JOB, 14)),
        (f"{JOB}/chk-14/._metadata.inprogress.{FILE}", Placed("exclusive", JOB, 14)),
        (f"{JOB}/shared/{FILE}", Placed("shared", JOB)),
        (
            f"{JOB}/shared/job_{JOB}_op_20ba6b65f97481d5570070de90e4e791_1_2/{FILE}",
            Placed("merged_shared", JOB),
        ),
        (f"{JOB}/taskowned/{FILE}", Placed("taskowned", JOB)),
        (
            f"{JOB}/taskowned/job_{JOB}_tm_flink-tm-1-41771-010b9e/{FILE}",
            Placed("merged_taskowned", JOB),
        ),
        (f"{JOB}/dstl/{FILE}", Placed("changelog", JOB)),
        (f"{JOB}/shared/op_Count_{JOB}__1_2__attempt_0/db/{FILE}", Placed("database", JOB)),
        (f"{JOB}/op_Count_{JOB}__1_2__attempt_10/db/{FILE}", Placed("database", JOB)),
        (f"savepoint-0e0a92-f8421b930391/{FILE}", Placed("savepoint")),
        ("savepoint-0e0a92-f8421b930391/_metadata", Placed("savepoint")),
        ("chk-14/_metadata", Placed("metadata", None, 14)),
        ("my-job/chk-14/_metadata", Placed("metadata", None, 14)),
        (f"my-job/chk-14/{FILE}", Placed(UNOWNED, None, 14)),
    ],
)
def test_flinks_own_files_have_their_place(path: str, expected: Placed) -> None:
    assert place_of(f"{ROOT}/{path}") == expected


@pytest.mark.parametrize(
    "path",
    [
        "README.txt",
        f"{JOB}/shared/README.txt",
        f"{JOB}/shared/op_x_attempt_0/db/MANIFEST-000005",
        f"{JOB}/shared/op_x_attempt_0/db/000012.sst",
        f"{JOB}/shared/op_x_attempt_0/db/deeper/{FILE}",
        f"{JOB}/shared/op_x_attempt_0/{FILE}",
        f"{JOB}/shared/op_x_attempt_x/db/{FILE}",
        f"{JOB}/shared/db/{FILE}",
        f"{JOB}/taskowned/op_x_attempt_0/db/{FILE}",
        f"op_x_attempt_0/db/{FILE}",
        f"{JOB}/shared/{FILE}\n",
        f"{JOB}/chk-14/deeper/{FILE}",
        f"{JOB}/chk-x/{FILE}",
        f"{JOB}/taskowned/else/{FILE}",
        f"{JOB.upper()}/shared/{FILE}",
        f"{JOB}/shared/{FILE}.sst",
        f"{JOB}/blob_p-{FILE}",
        f"job_{JOB}/blob_p-a",
        f"ha/{JOB}/jobgraph",
        "savepoint-0e0a92/a",
        "copied/_metadata",
    ],
)
def test_anything_else_is_never_touched(path: str) -> None:
    assert place_of(f"{ROOT}/{path}").place in (UNKNOWN, UNOWNED)
    assert place_of(f"{ROOT}/{path}").place not in CANDIDATES


def test_a_checkpoint_inside_a_savepoints_directory_is_the_savepoints() -> None:
    assert (
        place_of(f"{ROOT}/savepoint-0e0a92-f8421b930391/{JOB}/shared/{FILE}").place == "savepoint"
    )
