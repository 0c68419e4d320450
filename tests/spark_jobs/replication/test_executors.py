"""A round whose files are copied by Spark, from the request to the result."""

import json
import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.__main__ import main
from spark_jobs.replication.copying import batches
from spark_jobs.replication.executors import on_executors
from spark_jobs.replication.plan import Entry
from spark_jobs.replication.round import NotCopied, replicate
from tests.spark_jobs.replication.worlds import JOB, World, copies, state_of


def test_executors_copy_what_threads_would(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_jobs.replication.copying.FILES_A_BATCH", 2)
    world = World(tmp_path, random.Random(5))
    for _ in range(4):
        world.checkpoint()
    expected, asked = world.state(), []

    def copy_all(request: object, round_: int, found: object) -> object:
        asked.append(len(found))  # type: ignore[arg-type]
        yield on_executors(spark, request, round_, found)  # type: ignore[arg-type]

    result = replicate(world.request, copy_all)  # type: ignore[arg-type]
    assert [content for _, content in state_of(copies(world.copy)[0])] == expected
    assert asked[0] > 1 and len(list(world.copy.glob("_weir/rounds/*/copied/*"))) == asked[0]
    next((world.root / JOB / f"chk-{world.checkpoint()}").glob("*-*")).unlink()
    with pytest.raises(NotCopied, match="1 files were not copied, the first: There is no file"):
        replicate(world.request, copy_all)  # type: ignore[arg-type]
    assert copies(world.copy)[0].parent == Path(result.location.removeprefix("file:"))


def test_the_job_reads_its_request_and_writes_its_result(tmp_path: Path) -> None:
    world = World(tmp_path, random.Random(5))
    world.checkpoint()
    (tmp_path / "request.json").write_text(world.request.text())
    command = [
        "replicate",
        "--request",
        str(tmp_path / "request.json"),
        "--out",
        str(tmp_path / "out.json"),
        "--attempt",
        "one",
    ]
    assert main(command) == 0
    result = json.loads((tmp_path / "out.json").read_text())
    assert (
        result["state"] == "complete"
        and result["files"] == len(state_of(copies(world.copy)[0])) + 1
    )
    (tmp_path / "request.json").write_text("[]")
    assert main(command) == 2


def test_batches_hold_all_entries_in_order_and_are_bounded() -> None:
    entries = [
        Entry("p", str(number), size, True, False)
        for number, size in enumerate([10, 1 << 31, 5, *[1] * 500])
    ]
    found = list(batches(entries))
    assert [entry for batch in found for entry in batch] == entries
    assert all(len(batch) <= 200 for batch in found) and [len(batch) for batch in found[:2]] == [
        1,
        1,
    ]
