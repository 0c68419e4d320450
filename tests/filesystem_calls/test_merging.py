"""What merging would bring, against the same job played with merged files; and the other way."""

import pytest

from spark_jobs.filesystem_calls.checkpoint_files import checkpoint_files
from spark_jobs.filesystem_calls.inlining import unmerged_files
from spark_jobs.filesystem_calls.merging import merged
from tests.played_calls import calls_by_checkpoint, metadata_rows

TASKMANAGERS = 2


def of(name, folder):
    return [checkpoint_files(rows, file.directory, file.size or 0) for file, rows in metadata_rows(name, folder).values()]


def written(name):
    """Files beside the ``_metadata``, of each checkpoint that completed."""
    return [counted["create"] - 1 for counted in calls_by_checkpoint(name).values() if counted["rename"]]


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_files_of_a_job_that_merges_lie_within_what_is_worked_out_for_one_that_does_not(version, tmp_path):
    ranges = [merged(files, TASKMANAGERS) for files in of(f"{version}/counted-small", tmp_path)]
    least, most = min(one.least for one in ranges), max(one.most for one in ranges)
    counted = written(f"{version}/counted-merged")
    assert least <= min(counted)
    assert max(counted) <= most
    assert most < min(written(f"{version}/counted-small"))


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_where_each_waits_for_the_open_file_there_are_the_least_that_are_worked_out(version, tmp_path):
    """``counted-pooled``: one for each TaskManager and each subtask of enrich."""
    least = {merged(files, TASKMANAGERS).least for files in of(f"{version}/counted-small", tmp_path)}
    assert least == set(written(f"{version}/counted-pooled"))


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_files_of_a_job_that_does_not_merge_are_the_streams_of_one_that_does(version, tmp_path):
    counted = written(f"{version}/counted-small")[1:]
    for files in of(f"{version}/counted-merged", tmp_path):
        assert min(counted) <= unmerged_files(files, 0) <= max(counted)


def test_large_files_are_not_merged_beyond_their_largest_size(tmp_path):
    (files, *_) = of("1.20.5/counted-small", tmp_path)
    small, large = merged(files, TASKMANAGERS, largest_file_bytes=4_000), merged(files, TASKMANAGERS)
    assert small.least > large.least == 2 + TASKMANAGERS
    assert merged(files, TASKMANAGERS, threads=1).most < large.most
