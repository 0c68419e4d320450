"""Two audits of one run that look at the same root: what each reads and keeps is not counted for the other."""

from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from tests.spark_jobs.storage.audits import Audited, Auditor
from tests.storage_trees import lay_out

NAMES = ("one", "other")


@pytest.fixture(scope="module")
def runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Audited]:
    """Two runs: the first parses every ``_metadata`` for both audits, the second finds both in the lake."""
    folder = tmp_path_factory.mktemp("shared-root")
    tree = lay_out("1.20.5-I", folder / "tree")
    root = {"uri": tree.root.uri, "read_at": tree.root.read_at, "clusters": [], "attested": True}
    auditor, at = Auditor(spark, folder), tree.newest + timedelta(minutes=1)
    return [
        auditor.audit([{"audit_id": name, "as_of": at + later, "age_guard_h": 72, "roots": [root], "jobs": []} for name in NAMES])
        for later in (timedelta(), timedelta(hours=1))
    ]


def test_both_find_the_same_references(runs: list[Audited]) -> None:
    assert _references(runs[0], "one") == _references(runs[0], "other") != []


def test_what_was_kept_for_two_is_read_once_for_each(runs: list[Audited]) -> None:
    assert [_references(runs[1], name) for name in NAMES] == [_references(runs[0], name) for name in NAMES]


def test_no_checkpoint_has_more_than_it_had(runs: list[Audited]) -> None:
    first, second = ([row["bytes"] for row in run.rows("storage_checkpoint", "one")] for run in runs)
    assert sorted(first) == sorted(second) != []


def _references(audited: Audited, name: str) -> list[tuple[str, str, int]]:
    return sorted((row["metadata_path"], row["path"], row["bytes"]) for row in audited.rows("storage_reference", name))
