"""Lines of a JSON log that are not kept, for a whole column at once, like
:func:`ingest.flink_logs.json_records.is_routine`.
"""

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.flink_logs.patterns import contained, starts
from spark_jobs.transforms.whole_records import any_of, holds

_MESSAGE, _QUIET = '"message": ?"', r'"(?:log\.)?level": ?"(?:INFO|DEBUG|TRACE)"'


def alone(lines: pa.BinaryArray) -> bool:
    return bool(pc.all(pc.starts_with(lines, "{")).as_py())


def routine(lines: pa.BinaryArray) -> np.ndarray:
    """Whether a record is certainly neither an event nor of a kept level."""
    objects = pc.and_(pc.starts_with(lines, "{"), pc.ends_with(lines, "}"))
    flags: np.ndarray = (
        objects.to_numpy(zero_copy_only=False)
        & holds(lines, _MESSAGE)
        & holds(lines, _QUIET)
        & ~holds(lines, _read())
    )
    return flags


@cache
def _read() -> str:
    several = r'essage".*essage"|msg"|level".*level"|levelname"|severity"'
    return rf'{several}|"(?:WARN|ERROR|FATAL)|\\[u/]|{_MESSAGE}(?:{any_of(starts())})|{any_of(contained())}'
