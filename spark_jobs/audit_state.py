"""What an audit carries over from the one before: every file it listed, and who referred to what."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.run_dir import Carried
from spark_jobs.storage.inputs import KNOWN_FILES, REFERRED
from spark_jobs.storage.layout_columns import is_below

OF_FILES = ("storage_file", "storage_live", "storage_absent")
OF_REFERENCES = ("storage_reference", "storage_pending")


def known_files(carried: Carried) -> DataFrame:
    """Of all roots there ever were, without ``audit_id``."""
    empty = carried.session.createDataFrame([], KNOWN_FILES).drop("audit_id")
    return _union(carried, OF_FILES, empty)


def referred(carried: Carried) -> DataFrame:
    empty = carried.session.createDataFrame([], REFERRED).drop("audit_id")
    return _union(carried, OF_REFERENCES, empty)


def of_audited(known: DataFrame, overlapping: DataFrame) -> DataFrame:
    """Files below the audited roots, whatever root they were found below before: one within it, or around it."""
    found = known.join(F.broadcast(overlapping), "root").where(is_below(F.col("path"), F.col("audited")))
    return found.withColumn("root", F.col("audited")).select(*KNOWN_FILES.names)


def of_others(known: DataFrame, overlapping: DataFrame) -> DataFrame:
    """Files below roots that this run does not audit: the next one may."""
    audited = overlapping.groupBy("root").agg(F.collect_set("audited").alias("audited"))
    marked = known.join(F.broadcast(audited), "root", "left")
    is_audited = F.exists(F.coalesce("audited", F.array()), lambda one: is_below(F.col("path"), one))
    others = marked.where(~is_audited).select(*known.columns)
    return known.limit(0) if others.select("root").isEmpty() else others


def overlapping_roots(known: DataFrame, roots: DataFrame) -> DataFrame:
    """(root, audit_id, audited): roots of before, with each audited one that is the same, within it or around it."""
    audited = F.broadcast(roots.select("audit_id", F.col("root").alias("audited")))
    root, other = F.col("root"), F.col("audited")
    return known.select("root").distinct().join(audited, (root == other) | is_below(root, other) | is_below(other, root))


def of_audited_snapshots(referred: DataFrame, roots: DataFrame) -> DataFrame:
    """Whether a ``_metadata`` is gone can be known below audited roots only."""
    below = F.broadcast(roots.select("audit_id", "root"))
    return referred.join(below, is_below(F.col("metadata_path"), F.col("root"))).select(*REFERRED.names)


def of_other_snapshots(referred: DataFrame, roots: DataFrame) -> DataFrame:
    below = F.broadcast(roots.select("root"))
    return referred.join(below, is_below(F.col("metadata_path"), F.col("root")), "left_anti")


def _union(carried: Carried, names: tuple[str, ...], empty: DataFrame) -> DataFrame:
    return reduce(DataFrame.unionByName, (carried.frame(name, empty) for name in names))
