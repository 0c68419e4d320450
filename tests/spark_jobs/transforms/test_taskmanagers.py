"""Samples of TaskManagers come to the jobs that have slots on them, whichever way the cycle is computed."""

from pyspark.sql import SparkSession

from spark_jobs.small import taskmanagers as small
from spark_jobs.transforms import taskmanagers
from tests.spark_jobs.rows import collected, lake_rows, noon

ONE, OTHER = "a" * 32, "b" * 32


def test_each_job_with_slots_on_a_taskmanager_gets_its_samples_once(spark: SparkSession) -> None:
    def sampled(name, *jobs, at=0):
        slots = None if jobs == (None,) else [(job_id, 0.25) for job_id in jobs]
        return {"cluster": "c", "taskmanager_id": name, "ts": noon(at), "commit_seq": 1, "gc_ms": 7, "allocated_slots": slots}

    rows = [sampled("tm-1", ONE, ONE, OTHER), sampled("tm-1", ONE, at=5), sampled("tm-2"), sampled("tm-3", None)]
    brought = lake_rows(spark, "taskmanagers", rows)
    by_spark = collected(taskmanagers.of_jobs(brought))
    told = sorted((row["job_id"], row["taskmanager_id"], row["ts"], row["gc_ms"]) for row in by_spark)
    assert told == [(ONE, "tm-1", noon(0), 7), (ONE, "tm-1", noon(5), 7), (OTHER, "tm-1", noon(0), 7)]
    in_process = small.of_jobs(row.asDict(recursive=True) for row in brought.collect()).to_pylist()
    assert len(in_process) == len(by_spark)
    assert {(row["job_id"], row["ts"].timestamp()) for row in in_process} == {(row["job_id"], row["ts"].timestamp()) for row in by_spark}
