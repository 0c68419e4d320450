"""Adds up partial results of several calls of a step, by checkpoint, job or directory."""

import pyarrow as pa

from spark_jobs.storage import arrays, path_facts, reference_sums, totals
from spark_jobs.storage.arrays import Tables

KEYS = {
    "held": ("root_no", "job_directory", "job_id"),
    "figures": ("checkpoint_no",),
    "compared": ("checkpoint_no",),
    "reached": ("home_no",),
    "chains": ("job_no", "root_no", "other_job_directory", "other_job_id"),
    "chained": ("job_no", "root_no", "other_job_directory", "checkpoint_no"),
    "lost": ("root_no",),
    "outside": ("audit_id", "authority", "job_id"),
    "not_found_of": ("audit_id",),
    "unread_checkpoints": ("audit_id", "metadata_path"),
    "vanished_checkpoints": ("audit_id", "metadata_path"),
    "missing": ("checkpoint_no",),
}
"""Columns of which rows with the same values are of one thing."""

_SMALLEST, _LARGEST = ("metadata_path",), ("newest",)


def added_up(parts: Tables, known: Tables) -> dict[str, pa.Table]:
    """The same parts, with one row for each key."""
    summed_tables = {
        name: arrays.summed(rows, KEYS[name], _SMALLEST, _LARGEST)
        for name, rows in parts.items()
        if name not in _FIRST
    }
    summed_tables |= {name: first(parts[name]) for name, first in _FIRST.items() if name in parts}
    return {
        name: rows.select(path_facts.SCHEMAS[name].names) for name, rows in summed_tables.items()
    }


_FIRST = {"missing": reference_sums.first_missing}


def of_cube(parts: Tables, known: Tables) -> dict[str, pa.Table]:
    return {"cube": arrays.summed(parts["cube"], totals.CUBE_KEY)}
