"""A job that nothing tells of but the slots of a TaskManager: submitted between two requests of one
reading.
"""

from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ingest.records import AllocatedSlot, Observed, TaskManager
from tests.spark_jobs.instances import SmallInstance

AT = datetime(2026, 11, 23, 22, 59, 17, tzinfo=UTC)


def test_it_has_no_row_yet_and_stops_nothing(tmp_path: Path) -> None:
    instance = SmallInstance(None, tmp_path)  # type: ignore[arg-type]  # no Spark in it
    unknown: dict[str, Any] = {field.name: None for field in fields(TaskManager)}
    slots = (AllocatedSlot("5fe0a4c579906095bfaf76e219b817c1", 1),)
    sample = TaskManager(
        **unknown
        | {
            "taskmanager_id": "tm-1:40001-aa",
            "host": "tm-1",
            "ts": AT,
            "slots": 4,
            "allocated_slots": slots,
        }
    )
    instance.lake.append([Observed("c", AT, "rest", (sample,))])
    instance.cycle()
    assert instance.rows("job_current") == {}
