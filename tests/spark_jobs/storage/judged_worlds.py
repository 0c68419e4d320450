"""Worlds through one run of the audit, and what it said of each."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.storage.judging import judge
from spark_jobs.storage_words import ORPHAN, RETAINED_WASTE
from tests.spark_jobs.storage.packed import inputs_of
from tests.spark_jobs.storage.worlds import World


@dataclass
class Said:
    """What the audit said of one world: verdict, reason and kind by path; its doubts."""

    files: dict[str, tuple[str, str, str | None]]
    doubts: set[str]

    @property
    def deletable(self) -> set[str]:
        return {path for path, (verdict, _, _) in self.files.items() if verdict in (ORPHAN, RETAINED_WASTE)}

    def paths(self, verdict: str) -> set[str]:
        return {path for path, said in self.files.items() if said[0] == verdict}


Judged = list[tuple[World, Said]]


def judged_worlds(spark: SparkSession, worlds: Sequence[World], scratch: Path, *, written: bool = False) -> Judged:
    """``written``: their ``_metadata`` lie on disk and are read by executors."""

    def keep(name: str, frame: DataFrame) -> DataFrame:
        """As the audit does: plans start anew from what was kept."""
        at = str(scratch / name)
        frame.write.parquet(at)
        return spark.read.schema(frame.schema).parquet(at)

    judged = judge(inputs_of(spark, worlds, scratch, written=written), keep)
    said: dict[str, Said] = defaultdict(lambda: Said({}, set()))
    for row in judged.files.select("audit_id", "path", "verdict", "reason", "kind").toArrow().to_pylist():
        said[row["audit_id"]].files[row["path"]] = (row["verdict"], row["reason"], row["kind"])
    for row in judged.tables["storage_doubt"].select("audit_id", "reason").toArrow().to_pylist():
        said[row["audit_id"]].doubts.add(row["reason"])
    return [(one, said[str(one.seed)]) for one in worlds]
