"""A checkpoint can be moved as a directory only where nothing in its ``_metadata`` names an
absolute place.
"""

import pyarrow as pa
import pytest

from spark_jobs.storage.snapshots import PARSED, read_checkpoints

CASES = {
    "relative names only": ([{"written_path": "0d6f"}, {"written_path": None}], True),
    "no file at all": ([{}], True),
    "a file elsewhere": (
        [{"written_path": "0d6f"}, {"written_path": "s3://bucket/job/shared/1c"}],
        False,
    ),
    "a local file": ([{"written_path": "/mnt/ckpt/job/shared/1c"}], False),
    "directories of merged files without a segment": (
        [{"task_owned_directory": "s3://b/t", "shared_directory": "s3://b/s"}],
        False,
    ),
}


@pytest.fixture(scope="module")
def said() -> dict[str, bool]:
    rows = [
        {"audit_id": "a", "metadata_path": name, "ordinal": ordinal} | row
        for name, (given, _) in CASES.items()
        for ordinal, row in enumerate(given)
    ]
    found = read_checkpoints({"parsed": pa.Table.from_pylist(rows, PARSED)}, {}, {})[
        "snapshots"
    ].to_pylist()
    return {row["metadata_path"]: row["relocatable"] for row in found}


@pytest.mark.parametrize("name", CASES)
def test_a_checkpoint_is_relocatable_only_without_absolute_paths(
    said: dict[str, bool], name: str
) -> None:
    assert said[name] is CASES[name][1]
