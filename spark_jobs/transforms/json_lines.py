"""Finds lines of JSON logs that are not kept, as ``ingest.flink_logs.json_records`` does."""

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.flink_logs.patterns import contained, starts
from spark_jobs.transforms.whole_records import any_of, matches

_MESSAGE, _QUIET = '"message": ?"', r'"(?:log\.)?level": ?"(?:INFO|DEBUG|TRACE)"'


def are_all_json(lines: pa.BinaryArray) -> bool:
    return bool(pc.all(pc.starts_with(lines, "{")).as_py())


def are_routine(lines: pa.BinaryArray) -> np.ndarray:
    objects = pc.and_(pc.starts_with(lines, "{"), pc.ends_with(lines, "}"))
    flags: np.ndarray = (
        np.asarray(objects)
        & matches(lines, _MESSAGE)
        & matches(lines, _QUIET)
        & ~matches(lines, _kept_pattern())
    )
    return flags


@cache
def _kept_pattern() -> str:
    ambiguous = r'essage".*essage"|msg"|level".*level"|levelname"|severity"'
    return rf'{ambiguous}|"(?:WARN|ERROR|FATAL)|\\[u/]|{_MESSAGE}(?:{any_of(starts())})|{any_of(contained())}'
