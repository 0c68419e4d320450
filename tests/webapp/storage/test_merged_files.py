"""Checkpoints with merged files beside each other: physical files and segments are counted apart,
as Flink's own loader reads them.
"""

from pathlib import Path

import pytest

from ingest.metadata.files import MetadataFile
from tests.flink_segments import by_flink
from webapp.storage.xray import comparison

K = Path(__file__).parents[2] / "fixtures" / "recordings" / "1.20.5" / "K" / "ckpt"
PAIRS = [("7cd4ddc4e61073f5495ccd657dc6f7ec", 21, 20), ("4c340908e892ec01a354c7a3658ddff4", 25, 24)]


@pytest.mark.parametrize(("job_id", "newer", "older"), PAIRS)
def test_files_and_segments_are_those_of_flink(job_id: str, newer: int, older: int) -> None:
    paths = [K / job_id / f"chk-{number}" / "_metadata" for number in (newer, older)]
    ours, theirs = (by_flink(path) for path in paths)
    compared = comparison.compared(
        *(MetadataFile(str(path), path.stat().st_size) for path in paths)
    )
    files, others = ({name for name, _offset in of} for of in (ours, theirs))
    assert ours and theirs
    assert (compared.shared_files, compared.new_files, compared.dropped_files) == (
        len(files & others), len(files - others), len(others - files),
    )  # fmt: skip
    told = compared.segments
    assert told is not None
    assert (told.shared, told.new, told.dropped) == (
        len(ours.keys() & theirs.keys()),
        len(ours.keys() - theirs.keys()),
        len(theirs.keys() - ours.keys()),
    )
    assert told.new_bytes == sum(size for key, size in ours.items() if key not in theirs)
    assert told.shared_bytes == sum(size for key, size in ours.items() if key in theirs)


def test_without_merged_files_there_are_no_segments() -> None:
    h = K.parents[1] / "H" / "ckpt" / "84a45047ca73a5fc5c18d3c2a3d03be9"
    paths = [h / f"chk-{number}" / "_metadata" for number in (12, 11)]
    assert (
        comparison.compared(
            *(MetadataFile(str(path), path.stat().st_size) for path in paths)
        ).segments
        is None
    )
