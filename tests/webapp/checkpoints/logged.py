"""Lines about checkpoints of a recording as the serving table has them, by job and checkpoint."""

import json
from collections import defaultdict
from functools import cache
from typing import Any

import pyarrow as pa

from spark_jobs.step_schemas import EVENT
from spark_jobs.transforms.event_batches import with_served
from tests.fold.recorded import located_events
from tests.spark_jobs.located import located

Key = tuple[str, int]


@cache
def served_events(recording: str) -> dict[Key, list[dict[str, Any]]]:
    rows = [event | {"cluster": "c"} for event in located_events(recording) if event["ts"]]
    found: dict[Key, list[dict[str, Any]]] = defaultdict(list)
    events = pa.Table.from_pylist(rows, EVENT).combine_chunks().to_batches()
    for row in located(pa.Table.from_batches(map(with_served, events))).to_pylist():
        if row["job_id"] and row["checkpoint_id"] is not None:
            found[row["job_id"], row["checkpoint_id"]].append(
                row | {"vertex_name": row["task"], "fields": json.loads(row["fields"])}
            )
    for events in found.values():
        events.sort(key=lambda event: event["ts"])
    return found
