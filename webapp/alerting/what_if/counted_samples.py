"""Samples of one vertex in one minute → its record counters, as
:mod:`spark_jobs.transforms.counter_arrays` makes them for all jobs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.lib.instants import epoch_ms

COUNTED = ("attempt", "records_in", "records_out")
Sample = Mapping[str, Any]


def counters(samples: Sequence[Sample]) -> dict[str, dict[str, Any] | None]:
    """``samples`` in order of time → ``newest`` and ``first``, which has all subtasks of the newest
    in the same attempts.
    """
    answers = [answer for sample in samples if (answer := _answer(sample))]
    if not answers:
        return {"newest": None, "first": None}
    newest = answers[-1]
    return {
        "newest": newest,
        "first": next(
            (answer for answer in answers[:-1] if _has_attempts(answer, newest["attempt"])), None
        ),
    }


def _answer(sample: Sample) -> dict[str, Any] | None:
    """What its running tasks had counted."""
    if sample["counted_at"] is None or sample["attempt"] is None:
        return None
    columns: dict[str, list[int | None]] = {name: [] for name in COUNTED}
    for subtask, attempt in enumerate(sample["attempt"]):
        counts = [_at(sample[name], subtask) for name in ("records_in", "records_out")]
        runs = (_at(sample["task_state"], subtask) or "RUNNING") == "RUNNING"
        known = runs and attempt is not None and counts != [None, None]
        for name, value in zip(COUNTED, (attempt, *counts), strict=True):
            columns[name].append(value if known else None)
    if all(attempt is None for attempt in columns["attempt"]):
        return None
    return {"at": epoch_ms(sample["counted_at"]), **columns}


def _has_attempts(answer: Mapping[str, Any], attempts: Sequence[int | None]) -> bool:
    return all(
        attempt is None or _at(answer["attempt"], subtask) == attempt
        for subtask, attempt in enumerate(attempts)
    )


def _at(values: Sequence[Any] | None, subtask: int) -> Any:
    return values[subtask] if values and subtask < len(values) else None
