"""A lake that holds whatever a hostile cluster could put into it: cycles end, fit for the database
and the same without Spark.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest.recordings.importer import import_recording
from spark_jobs.manifest import Manifest
from spark_jobs.serving import SERVING_TABLES
from spark_jobs.transforms.fold_batches import LEFT_OUT
from tests.attacks.scale import examples
from tests.ingest.recorded import RECORDINGS
from tests.spark_jobs.instances import Instance, SmallInstance, assert_same_rows
from webapp.work.run_files import batches

E = RECORDINGS / "1.20.5" / "E"
JOB = "26eb676de8b3e133f9078fabe3704eb6"
EXTREMES = [
    0,
    -1,
    2**53,
    2**53 - 1,
    2**63 - 2,
    2**63 - 1,
    -(2**63) + 1,
    3_162_240_000_000,
    7_258_118_399_999,
    1e18,
    1e17,
    1e300,
    0.5,
]
TEXTS = ["9007199254740992", "-9223372036854775807", "1e18", "NaN", "\x00", "x" * 70_000]
SPOILED_SHARE = 0.3


def spoiled(value: Any, dice: random.Random) -> Any:
    """A copy in which many numbers and figures are as large or small as parsers let through."""
    if isinstance(value, dict):
        return {
            key: inner
            if key in ("ts", "id", "jid", "path", "status") and not isinstance(inner, dict | list)
            else spoiled(inner, dice)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [spoiled(inner, dice) for inner in value]
    if isinstance(value, bool) or value is None or dice.random() > SPOILED_SHARE:
        return value
    if isinstance(value, int | float):
        return dice.choice(EXTREMES)
    return (
        dice.choice(TEXTS)
        if isinstance(value, str) and value.replace(".", "").replace("-", "").isdigit()
        else value
    )


def refused(name: str) -> None:
    raise AssertionError(f"{name} is no JSON, and no database takes it")


LOG = [
    f"Triggering checkpoint 999999999999999999 (type=CHECKPOINT) @ 253402300799999 for job {JOB}.",
    f"Triggering checkpoint 7 (type=CHECKPOINT) @ 1 for job {JOB}.",
    f"Completed checkpoint 999999999999999999 for job {JOB} (999999999999999999 bytes, "
    "checkpointDuration=999999999999999999 ms, finalizationTime=999999999999999999 ms).",
    f"Completed checkpoint 7 for job {JOB} (999999999999999999 bytes in 999999999999999999 ms).",
    f"Checkpoint 7 of job {JOB} expired before completing.",
    "source (999999999/999999999) "
    "(a932b3badd0047fc56bb20dcdd6164f3_9c32e3838cee893dbb2fc90ccad79598_999999999_999999999) "
    "switched from RUNNING to FAILED on tm-1 @ host-1 (dataPort=1).",
    "source (1/4) "
    f"(a932b3badd0047fc56bb20dcdd6164f3_9c32e3838cee893dbb2fc90ccad79598_{'9' * 5000}_{'9' * 5000}) "
    "switched from RUNNING to FAILED on tm-1 @ host-1 (dataPort=1).",
    f"Job lab-E-decline ({JOB}) switched from state RUNNING to RESTARTING.",
]
TIMES = [
    "0001-01-01 00:00:00,000",
    "1969-12-31 23:59:59,999",
    "2026-11-21 04:05:00,000",
    "2199-12-31 23:59:59,999",
    "9999-12-31 23:59:59,999",
]


def hostile_recording(folder: Path, seed: int) -> Path:
    dice = random.Random(seed)
    (folder / "logs").mkdir(parents=True)
    with (folder / "rest.jsonl").open("w") as out:
        for line in (E / "rest.jsonl").read_text().splitlines():
            entry = json.loads(line)
            out.write(json.dumps(entry | {"body": spoiled(entry["body"], dice)}) + "\n")
    lines = [
        f"{at} INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator [] - {text}\n"
        for at in TIMES
        for text in LOG
    ]
    (folder / "logs" / f"jm-{seed}.log").write_text("".join(lines))
    return folder


@pytest.mark.long
def test_extreme_figures_stop_neither_cycles_nor_the_loading(
    spark: SparkSession, tmp_path: Path
) -> None:
    by_spark, small = Instance(spark, tmp_path / "spark"), SmallInstance(spark, tmp_path / "small")
    parts = [
        hostile_recording(tmp_path / f"hostile-{seed}", seed)
        for seed in (16, 17, 18)[: examples(2, 3)]
    ]
    for part in parts:
        for instance in (by_spark, small):
            import_recording(part, "hostile", instance.lake)
            import_recording(E, "honest", instance.lake)
            assert_fit_for_the_database(instance.cycle())
    for instance in (by_spark, small):
        assert {key[0] for key in instance.rows("job_current")} == {"hostile", "honest"}
        left_out = [
            row for row in instance.rows("skipped_input").values() if row["reason"] == LEFT_OUT
        ]
        assert left_out == []
    assert_same_rows(by_spark, small)


def assert_fit_for_the_database(manifest: Manifest) -> None:
    for name, table in SERVING_TABLES.items():
        documents = [column.name for column in table.columns if column.kind == "json"]
        for rows in batches(manifest, name):
            for document in (row[column] for row in rows for column in documents if row[column]):
                json.loads(document, parse_constant=refused)
