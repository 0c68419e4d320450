"""What ``_metadata`` say as a whole, brought to the jobs that want it: by their keys (:mod:`spark_jobs.fold.wanted_snapshots`).

A row that an audit brought names no cluster, since nobody knows whose a file is where it is read: it goes to any.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.nested_tables import JOB
from spark_jobs.step_schemas import SNAPSHOT


def of_jobs(wanted: DataFrame, snapshots: DataFrame) -> DataFrame:
    """``wanted``: cluster, job_id and ``wanted_keys``; rows of ``snapshots`` with both of the job, and ``owner_id`` for their own."""
    directory = F.regexp_replace("metadata_path", "/_metadata$", "")
    above = F.regexp_replace(directory, "/[^/]*$", "")
    read = snapshots.where(F.col("metadata_path").isNotNull()).withColumnsRenamed({"cluster": "read_by", "job_id": "owner_id"})
    by_key = read.withColumn("key", F.explode(F.array_distinct(F.array("owner_id", directory, above))))
    of_job = wanted.select(*JOB, F.explode("wanted_keys").alias("key"))
    found = by_key.join(F.broadcast(of_job), on="key", how="inner").where((F.col("read_by") == "") | (F.col("read_by") == F.col("cluster")))
    return found.select(*SNAPSHOT.names).distinct()
