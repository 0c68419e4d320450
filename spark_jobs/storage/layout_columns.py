"""Places in Flink's layout (``ingest.storage.layout``), for columns of paths."""

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage.layout import (
    CANDIDATES,
    DATABASE,
    END,
    JOB_CHARS,
    JOB_DIRECTORY,
    METADATA_NAME,
    PLACES,
    UNKNOWN,
    UUID_CHARS,
)
from spark_jobs.storage.arrays import column

MERGED = ("merged_taskowned", "merged_shared")
METADATA_SUFFIX = f"/{METADATA_NAME}"

_SUFFIX_LENGTH = {
    place.name: len(place.literal) + UUID_CHARS
    for place in PLACES
    if place.name in ("shared", "taskowned", "changelog")
}
"""Length of ``<literal><UUID>`` behind the job's directory: counting is faster than looking for
slashes.
"""
_SUFFIX_COMPONENTS = {"exclusive": 2, "metadata": 2, **dict.fromkeys(MERGED, 3)}
_MOST_DIGITS = 18
"""Longer numbers may exceed 64 bits."""


class Placed(NamedTuple):
    """``place``: in Flink's layout. ``job_directory``: ``<any directory>/<job id>``; it identifies
    a job in storage, since all jobs of application clusters with high availability have the id
    000…0. Null, like ``job_id``, for paths outside.
    """

    place: pa.Array
    job_id: pa.Array
    job_directory: pa.Array
    checkpoint_id: pa.Array


def placed(paths: pa.Array) -> Placed:
    """Where each path lies in Flink's layout. Patterns are tried in order, on paths that contain
    their literal.
    """
    place = np.full(len(paths), len(PLACES), np.int8)
    directory = np.full(len(paths), -1, np.int64)
    directories: list[pa.Array] = []
    checkpoint_id = np.full(len(paths), -1, np.int64)
    unmatched = np.asarray(pc.is_valid(paths)).nonzero()[0]
    for number, layout_place in enumerate((*PLACES, None)):
        candidates = paths.take(pa.array(unmatched))
        if layout_place is None:
            flags = _flags(pc.match_substring_regex(candidates, _re2(JOB_DIRECTORY)))
            name, at = UNKNOWN, unmatched[flags]
        else:
            is_suffix = layout_place.literal == METADATA_SUFFIX
            contains = pc.ends_with if is_suffix else pc.match_substring
            flags = _flags(contains(candidates, layout_place.literal))
            if flags.any():
                with_literal = candidates.filter(pa.array(flags))
                pattern = _re2(layout_place.pattern)
                flags[flags] = _flags(pc.match_substring_regex(with_literal, pattern))
            name, at = layout_place.name, unmatched[flags]
            place[at] = number
        unmatched = unmatched[~flags]
        if not len(at):
            continue
        matched = paths.take(pa.array(at))
        if layout_place is not None and layout_place.numbered:
            checkpoint_id[at] = _checkpoint_ids(matched)
        job_directories = _job_directories(matched, name)
        if job_directories is not None:
            directory[at] = np.arange(len(at)) + sum(map(len, directories))
            directories.append(job_directories)
    all_directories = pa.concat_arrays([pa.array([], pa.string()), *directories])
    job_directory = all_directories.take(pa.array(directory, mask=directory < 0))
    names = pa.array([*(place.name for place in PLACES), UNKNOWN])
    job_id = _slice(job_directory, -JOB_CHARS, None)
    return Placed(
        names.take(pa.array(place)),
        job_id,
        job_directory,
        pa.array(checkpoint_id, mask=checkpoint_id < 0),
    )


def with_places(files: pa.Table, path: str = "path") -> pa.Table:
    """Adds or replaces the columns of ``Placed``."""
    places = placed(column(files, path))
    kept = files.drop_columns([name for name in Placed._fields if name in files.column_names])
    return pa.table([*kept.columns, *places], names=[*kept.column_names, *Placed._fields])


def is_candidate(place: pa.Array) -> pa.Array:
    return pc.is_in(place, value_set=pa.array(sorted(CANDIDATES)))


def is_metadata(path: pa.Array) -> pa.Array:
    return pc.ends_with(path, METADATA_SUFFIX)


def directories_of(paths: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(paths, r"/[^/]*\z", "")


def are_below(paths: pa.Array, directory: str) -> pa.Array:
    return pc.starts_with(paths, f"{directory.rstrip('/')}/")


def _re2(pattern: str) -> str:
    return pattern.replace(END, r"\z")


# Arrow only extracts named groups.
_JOB_DIRECTORY = (
    _re2(JOB_DIRECTORY).replace("(", "(?P<directory>", 1).replace("/([", "/(?P<job>[", 1)
)


def _flags(array: pa.Array) -> np.ndarray:
    return np.array(array, dtype=np.bool_)


def _slice(paths: pa.Array, begin: int, end: int | None) -> pa.Array:
    """Slices bytes, several times faster; the part cut off must be ASCII."""
    return pc.binary_slice(paths.cast(pa.binary()), begin, end).cast(pa.string())


def _job_directories(paths: pa.Array, place: str) -> pa.Array | None:
    if place in _SUFFIX_LENGTH:
        return _slice(paths, 0, -_SUFFIX_LENGTH[place])
    if place in (UNKNOWN, DATABASE):
        return pc.struct_field(pc.extract_regex(paths, _JOB_DIRECTORY), [0])
    if place not in _SUFFIX_COMPONENTS:
        return None
    above = pc.replace_substring_regex(paths, rf"(?:/[^/]*){{{_SUFFIX_COMPONENTS[place]}}}\z", "")
    if place != "metadata":
        return above
    return pc.if_else(
        pc.match_substring_regex(above, rf"(?:^|/)[0-9a-f]{{{JOB_CHARS}}}\z"), above, None
    )


def _checkpoint_ids(paths: pa.Array) -> np.ndarray:
    """The number of ``chk-N``; -1 if there is none, or it exceeds 64 bits."""
    texts = pc.struct_field(pc.extract_regex(paths, r"/chk-(?P<number>[0-9]+)/[^/]*\z"), [0])
    short = pc.if_else(pc.less_equal(pc.utf8_length(texts), _MOST_DIGITS), texts, None)
    ids = np.array(pc.fill_null(short.cast(pa.int64()), -1))
    for at in np.flatnonzero(ids < 0):
        text = texts[int(at)].as_py()
        if text and re.fullmatch("[0-9]{1,40}", text) and int(text) < 2**63:
            ids[at] = int(text)
    return ids
