"""What merging would bring, against the same job played with merged files."""

import pytest

from spark_jobs.filesystem_calls.checkpoint_files import checkpoint_streams
from spark_jobs.filesystem_calls.inlining import most_merged_files
from tests.played_calls import calls_by_checkpoint, metadata_rows


def of(name, folder):
    return [
        checkpoint_streams(rows, file.directory)
        for file, rows in metadata_rows(name, folder).values()
    ]


def written(name):
    """Files beside the ``_metadata``, of each checkpoint that completed."""
    return [
        counted["create"] - 1 for counted in calls_by_checkpoint(name).values() if counted["rename"]
    ]


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_a_job_that_merges_writes_at_most_what_is_worked_out_for_one_that_does_not(
    version, tmp_path
):
    """``counted-pooled``: each waits for the open file."""
    most = max(most_merged_files(files) for files in of(f"{version}/counted-small", tmp_path))
    assert (
        max(written(f"{version}/counted-pooled"))
        < max(written(f"{version}/counted-merged"))
        <= most
    )
    assert most < min(written(f"{version}/counted-small"))


def test_large_files_are_not_merged_beyond_their_largest_size(tmp_path):
    (files, *_) = of("1.20.5/counted-small", tmp_path)
    one_thread = most_merged_files(files, threads=1)
    assert one_thread < most_merged_files(files)
    assert one_thread < most_merged_files(files, threads=1, largest_file_bytes=4_000)
