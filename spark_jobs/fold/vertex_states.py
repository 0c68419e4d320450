from collections.abc import Mapping

from spark_jobs.fold.checkpoint_phases import is_last
from spark_jobs.fold.checkpoint_rows import best_sized
from spark_jobs.fold.rows import Row, Rows, floor_ms, grouped, rank
from spark_jobs.fold.triggers import CheckpointKey
from spark_jobs.fold.windows import CHUNK_MS


def vertex_states(
    vertex_checkpoints: Rows, facts: Mapping[CheckpointKey, Row], remembered: Rows
) -> list[Row]:
    """The newest full state of each chunk of time."""
    newest: dict[int, Row] = {}
    for checkpoint in (*_checkpoint_states(vertex_checkpoints, facts), *remembered):
        chunk = floor_ms(checkpoint["at"], CHUNK_MS)
        known = newest.get(chunk)
        if (
            known is None
            or checkpoint["at"] > known["at"]
            or (checkpoint["at"] == known["at"] and rank(checkpoint) > rank(known))
        ):
            newest[chunk] = dict(checkpoint)
    return [newest[chunk] for chunk in sorted(newest)]


def _checkpoint_states(vertex_checkpoints: Rows, facts: Mapping[CheckpointKey, Row]) -> Rows:
    # Old Flink versions report no uploaded bytes; their state size is not the full size.
    full = (
        row
        for row in vertex_checkpoints
        if row["subtask_state_bytes"] and row["subtask_checkpointed_bytes"] and is_last(row)
    )
    for key, rows in grouped(full, "checkpoint_id", "trigger_time").items():
        fact = facts.get(key)
        if fact is None or fact["outcome"] != "completed" or fact["is_savepoint"]:
            continue
        states = [
            {
                "vertex_id": vertex_id,
                "checkpoint_id": key[0],
                "trigger_time_ms": key[1],
                "subtask_state_bytes": best_sized(answers)["subtask_state_bytes"],
            }
            for vertex_id, answers in grouped(rows, "vertex_id").items()
        ]
        yield {"at": key[1], "states": sorted(states, key=lambda state: rank(state["vertex_id"]))}
