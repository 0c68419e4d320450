"""Where in Flink's layout a file lies, as native columns; the layout itself is :mod:`ingest.storage.layout`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.storage.layout import CANDIDATES, JOB_CHARS, JOB_DIRECTORY, METADATA_NAME, PLACES, UNKNOWN, UUID_CHARS

TASK_OWNED = ("taskowned", "merged_taskowned", "merged_shared", "changelog")
"""Operators and backends may hold handles to these that no ``_metadata`` tells of."""
MERGED = ("merged_taskowned", "merged_shared")

_FROM_END = {
    place.name: JOB_CHARS + len(place.literal) + UUID_CHARS for place in PLACES if place.name in ("shared", "taskowned", "changelog")
}
"""Where the job id begins in paths that end in ``<job id><literal><UUID>``: counting is faster than looking for slashes."""
METADATA_SUFFIX = f"/{METADATA_NAME}"
_JOB_ID = "^[0-9a-f]{32}$"


def with_places(files: DataFrame, path: str = "path") -> DataFrame:
    """Adds ``place``, ``job_id`` (whose directory it lies in) and ``checkpoint_id``, null where there is none."""
    placed = files.withColumn("place", _place(F.col(path)))
    return placed.withColumns(
        {"job_id": _job_id(F.col(path), F.col("place")), "checkpoint_id": _checkpoint_id(F.col(path), F.col("place"))}
    )


def with_job_directory(files: DataFrame, path: str = "path") -> DataFrame:
    """Adds ``job_directory`` to what :func:`with_places` made."""
    return files.withColumn("job_directory", job_directory(F.col(path), F.col("place"), F.col("job_id")))


def is_candidate(place: Column) -> Column:
    return place.isin(*sorted(CANDIDATES))


def is_metadata(path: Column) -> Column:
    return path.endswith(METADATA_SUFFIX)


def directory_of(path: Column) -> Column:
    name = F.substring_index(path, "/", -1)
    return cut(path, F.lit(1), F.octet_length(path) - F.octet_length(name) - 1).cast("string")


def cut(text: Column, at: Column, length: Column) -> Column:
    """Bytes of a text: to count characters takes a walk over them, several times as long as all else done with a path.

    ``at`` is counted from 1, or back from the end where it is negative.
    """
    return F.substring(text.cast("binary"), at, length)


def is_below(path: Column, directory: Column) -> Column:
    """Strictly below; both canonical."""
    return path.startswith(F.concat(F.rtrim(directory, F.lit("/")), F.lit("/")))


def job_directory(path: Column, place: Column, job_id: Column) -> Column:
    """``<any directory>/<job id>``, as far as a path leads through one; null where ``job_id`` is.

    This is the identity of a job in storage. The id alone is none: every job of an application
    cluster with high availability has the id 000…0.
    """
    behind = F.when(place.isin("exclusive", "metadata"), _octets(path, 2)).when(place.isin(*MERGED), _octets(path, 3))
    for name, octets in _FROM_END.items():
        behind = behind.when(place == name, F.lit(octets - JOB_CHARS - 1))
    known = cut(path, F.lit(1), F.octet_length(path) - behind - 1).cast("string")
    return F.when(
        job_id.isNotNull(),
        F.when(place == UNKNOWN, F.regexp_extract(path, JOB_DIRECTORY, 1)).otherwise(known),
    )


def _octets(path: Column, components: int) -> Column:
    return F.octet_length(F.substring_index(path, "/", -components))


def _place(path: Column) -> Column:
    """Each pattern is tried only where its literal is, and where those before it failed: ten million paths are many."""
    found = F.when(path.isNull(), UNKNOWN)
    for place in PLACES:
        found = found.when(path.contains(place.literal) & path.rlike(place.pattern), place.name)
    return found.otherwise(UNKNOWN)


def _job_id(path: Column, place: Column) -> Column:
    third = _component(path, 3)
    found = F.when(path.isNull(), F.lit(None))
    for name, from_end in _FROM_END.items():
        found = found.when(place == name, cut(path, F.lit(-from_end), F.lit(JOB_CHARS)).cast("string"))
    return (
        found.when(place == "exclusive", third)
        .when(place.isin(*MERGED), _component(path, 4))
        .when((place == "metadata") & third.rlike(_JOB_ID), third)
        .when((place == UNKNOWN) & path.rlike(JOB_DIRECTORY), F.regexp_extract(path, JOB_DIRECTORY, 2))
    )


def _checkpoint_id(path: Column, place: Column) -> Column:
    """A number too large for any checkpoint is none."""
    return F.when(place.isin("metadata", "exclusive", "unowned"), F.substring_index(_component(path, 2), "-", -1).try_cast("bigint"))


def _component(path: Column, from_end: int) -> Column:
    return F.substring_index(F.substring_index(path, "/", -from_end), "/", 1)
