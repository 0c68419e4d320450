"""Which jobs stem from which, and whose task-owned files a retained snapshot may still need.

Graphs of jobs are small; one row holds that of an audit, and a Python worker walks it.
"""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.schemas import spark_schema

_NEEDED = pa.schema([("audit_id", pa.string()), ("job_id", pa.string())])


def descents(restores: DataFrame, foreign: DataFrame, known: DataFrame) -> DataFrame:
    """Edges (audit_id, ancestor, descendant): restored from, or refers to files of.

    ``foreign`` has job_id and other_job_id, ``known`` all job ids: a savepoint tells but six digits of its job's.
    """
    of_checkpoint = restores.where(F.col("from_job_id").isNotNull()).select("audit_id", F.col("from_job_id").alias("ancestor"), "job_id")
    of_savepoint = restores.select("audit_id", "from_prefix", F.col("job_id").alias("descendant")).join(
        known.select("audit_id", F.col("job_id").alias("ancestor"), F.substring("job_id", 1, 6).alias("from_prefix")),
        ["audit_id", "from_prefix"],
    )
    edges = of_checkpoint.withColumnRenamed("job_id", "descendant").unionByName(of_savepoint.select("audit_id", "ancestor", "descendant"))
    referring = foreign.select("audit_id", F.col("other_job_id").alias("ancestor"), F.col("job_id").alias("descendant"))
    return edges.unionByName(referring).where(F.col("ancestor") != F.col("descendant")).distinct()


def needed_ancestors(edges: DataFrame, holders: DataFrame) -> DataFrame:
    """(audit_id, job_id): ``holders`` and everything they stem from."""
    nested_edges = edges.groupBy("audit_id").agg(F.collect_list(F.struct("ancestor", "descendant")).alias("edges"))
    nested_holders = holders.groupBy("audit_id").agg(F.collect_set("job_id").alias("holders"))
    graphs = nested_holders.join(nested_edges, "audit_id", "left").select("audit_id", "holders", "edges")
    return graphs.mapInArrow(_walked, spark_schema(_NEEDED))


def _walked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            found = sorted(ancestors(row["holders"], row["edges"] or ()))
            yield pa.record_batch([pa.repeat(row["audit_id"], len(found)).cast(pa.string()), pa.array(found, pa.string())], schema=_NEEDED)


def ancestors(holders: Iterable[str], edges: Iterable[Mapping[str, str]]) -> set[str]:
    """``holders`` and all above them."""
    above: dict[str, list[str]] = {}
    for edge in edges:
        above.setdefault(edge["descendant"], []).append(edge["ancestor"])
    found, left = set(holders), list(holders)
    while left:
        new = [job for job in above.get(left.pop(), ()) if job not in found]
        found.update(new)
        left += new
    return found
