"""checkpoint.full_after_savepoint."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.samples import Annotation, CheckpointConfig, UploadedFiles
from tests.diagnosis.jobs import (
    MIB,
    checkpoint,
    evidence,
    found,
    ms,
    savepoint,
    unknown,
    window,
)

RULE = "checkpoint.full_after_savepoint"
FULL = 80 * MIB


def sized(id, at, uploaded_mib, **values):
    return checkpoint(id, at, state_bytes=FULL, checkpointed_bytes=uploaded_mib * MIB, **values)


def one_size(id, at, uploaded_mib):
    """As releases before 1.15 report it."""
    return checkpoint(id, at, checkpointed_bytes=uploaded_mib * MIB, subtasks=8)


def story(uploaded_mib, after_savepoint, make=sized, **values):
    """Checkpoints a minute apart that upload these MiB; a savepoint before each of those in
    ``after_savepoint`` (by place).
    """
    told, id = [], 0
    for place, uploaded in enumerate(uploaded_mib):
        if place in after_savepoint:
            id += 1
            told.append(savepoint(id, 60 * place - 30, state_bytes=FULL))
        id += 1
        told.append(make(id, 60 * place, uploaded))
    return window(*told, **{"flink_version": "1.12.5", **values})


def ids(findings):
    return [finding.data["checkpoint_id"] for finding in findings]


def test_a_full_upload_after_a_savepoint_is_told_with_its_excess_first():
    [finding] = found(story([1, 1, 1, 1, 1, 78, 1], {5}, one_size), RULE)
    assert (finding.subject_kind, finding.subject) == ("checkpoint", "checkpoint 7")
    assert (finding.evidence[0].value, finding.evidence[0].unit) == (77 * MIB, "bytes")
    assert "FLINK-23949" in finding.cause


def test_where_both_sizes_are_told_the_uploaded_one_decides():
    told = [80, 1, 1, 1, 1, 78, 1, 1, 1, 78, 1, 1, 1, 78, 1]
    assert not found(story(told, {5, 9, 13}, flink_version=None), RULE)
    [finding, *_] = found(story(told, {5, 9, 13}), RULE)
    assert (finding.subject, finding.confidence) == ("checkpoint 7", "medium")
    assert evidence(finding, "uploaded share of the full state") == 78 / 80


def test_it_is_not_told_before_the_next_checkpoint_fell_back():
    assert not found(story([1, 1, 1, 1, 1, 78], {5}, one_size), RULE)


def test_a_checkpoint_that_stays_large_is_something_else():
    assert not found(story([1, 1, 1, 1, 1, 78, 78, 78], {5}, one_size), RULE)


def test_a_full_upload_without_a_savepoint_is_compaction():
    assert not found(story([1, 1, 78, 1, 1, 1, 1], {5}, one_size), RULE)


def test_full_checkpoints_of_a_heap_backend_are_normal():
    assert not found(story([80] * 8, {3, 6}), RULE)
    assert not found(story([80] * 8, {3, 6}, one_size), RULE)


def test_one_coincidence_on_a_repaired_release_is_compaction():
    assert not found(story([1, 1, 1, 1, 1, 78, 1], {5}, flink_version="1.20.5"), RULE)


def files(id, at, **values):
    return UploadedFiles(id, ms(at), compared_with="file:/ck/chk-5", **values)


def test_metadata_with_the_old_files_makes_it_certain_on_any_release():
    seen = files(7, 300, kept_bytes=78 * MIB, same_name_bytes=0, new_name_bytes=0)
    [finding] = found(
        story([1, 1, 1, 1, 1, 78, 1], {5}, flink_version="1.20.5", uploads=(seen,)), RULE
    )
    assert finding.confidence == "high"
    assert evidence(finding, "old files among those uploaded") == 1


def test_metadata_with_new_names_is_compaction_on_any_release():
    seen = files(7, 300, kept_bytes=0, same_name_bytes=0, new_name_bytes=78 * MIB)
    assert not found(story([1, 1, 1, 1, 1, 78, 1], {5}, one_size, uploads=(seen,)), RULE)


def test_where_no_savepoint_tells_its_size_the_files_of_the_metadata_do():
    told = story(
        [1, 1, 1, 1, 1, 78, 1],
        {5},
        one_size,
        uploads=(files(7, 300, kept_bytes=79 * MIB, new_name_bytes=1 * MIB),),
    )
    told = replace(
        told,
        checkpoints=tuple(
            replace(one, state_bytes=None) if one.is_savepoint else one for one in told.checkpoints
        ),
    )
    [finding] = found(told, RULE)
    assert evidence(finding, "uploaded share of the full state") == 78 / 80
    assert not found(replace(told, uploads=()), RULE)


@pytest.mark.parametrize("kind", ["restore", "restart", "rescale", "deploy"])
def test_the_first_upload_after_a_break_has_reasons_of_its_own(kind):
    told = story([1, 1, 1, 1, 1, 78, 1], {5}, one_size)
    assert not found(replace(told, annotations=(Annotation(ms(280), kind),)), RULE)


def test_a_savepoint_that_failed_changes_nothing():
    told = story([1, 1, 1, 1, 1, 78, 1], {5}, one_size)
    failed = tuple(
        replace(one, outcome="failed") if one.is_savepoint else one for one in told.checkpoints
    )
    assert not found(replace(told, checkpoints=failed), RULE)


def test_a_checkpoint_that_only_the_log_told_of_has_no_uploaded_size():
    told = story([1, 1, 1, 1, 1, 1, 1], {5}, flink_version="1.20.5")
    by_log = tuple(
        replace(one, checkpointed_bytes=None) if one.checkpoint_id == 7 else one
        for one in told.checkpoints
    )
    assert not found(replace(told, checkpoints=by_log, version=(1, 16, 0)), RULE)


def test_without_rest_no_upload_is_known_and_nothing_is_said_to_be_well():
    told = story([1, 1, 1, 1, 1, 78, 1], {5})
    logged = tuple(replace(one, checkpointed_bytes=None) for one in told.checkpoints)
    assert "uploaded" in unknown(replace(told, checkpoints=logged, config=CheckpointConfig()), RULE)


def test_each_checkpoint_is_a_finding_of_its_own():
    findings = found(story([1, 1, 1, 78, 1, 78, 1], {3, 5}, one_size), RULE)
    assert ids(findings) == [5, 8]
    assert len({finding.subject_id for finding in findings}) == 2
