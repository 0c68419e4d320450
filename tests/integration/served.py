"""All served rows of a home, comparable between two of them."""

from typing import Any

from spark_jobs.serving import SERVING_TABLES
from tests.integration.running import RunningWeir

TABLES = {
    "job_current": "fleet_jobcurrent",
    "checkpoint_fact": "checkpoints_checkpointfact",
    "checkpoint_rollup": "checkpoints_checkpointrollup",
    "size_trend": "checkpoints_sizetrend",
    "pressure_window": "pressure_pressurewindow",
    "log_event": "fleet_logevent",
    "job_exception": "fleet_jobexception",
    "job_annotation": "fleet_jobannotation",
    "skipped_input": "work_skippedinput",
    "finding_occurrence": "findings_findingoccurrence",
}
"""``job_judgement`` is left out: it tells of the last run alone, and another instance cuts its runs
otherwise.
"""

_FINDINGS = (
    "SELECT cluster, job_id, rule, subject_id, first_seen, last_seen, state, severity, confidence, "
    "title, evidence, related, data "
    "FROM findings_finding ORDER BY cluster, job_id, rule, subject_id, first_seen"
)


def served_rows(weir: RunningWeir) -> dict[str, list[tuple[Any, ...]]]:
    """Every serving table by name, its rows in the order of their key, all declared columns; and
    what occurrences fold into.
    """
    return {name: weir.rows(_query(name)) for name in SERVING_TABLES if name in TABLES} | {
        "finding": weir.rows(_FINDINGS)
    }


def _query(name: str) -> str:
    table = SERVING_TABLES[name]
    columns = ", ".join(f'"{column}"' for column in table.column_names)
    order = ", ".join(f'"{column}"' for column in table.key)
    return f'SELECT {columns} FROM "{TABLES[name]}" ORDER BY {order}'
