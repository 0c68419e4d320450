"""Headers and handles as JSON objects, named and written as Flink's own objects describe
themselves.

A key is left out where it does not apply to a handle; it is null where it applies and is unknown.
"""

from typing import Any

from ingest.metadata.pieces import Handle, Keyed, Properties, Stream
from ingest.metadata.streams import EMPTY_SEGMENT
from tests.ingest.metadata.summary import OperatorTotals, Summary

Line = dict[str, Any]


def header_line(summary: Summary, path: str) -> Line:
    header, properties = summary.header, summary.properties
    return {
        "checkpoint_id": header.checkpoint_id,
        "version": header.dialect.version,
        "operators": [_operator(totals) for totals in summary.operators],
        "total_state_size": summary.state_bytes,
        "handles": summary.handles,
        "master_states": len(header.master_states),
        "properties": properties and described(properties),
        "flink": None,  # who read it; this is not Flink
        "file": path,
        "file_size": summary.bytes,
        "written_by": f"Flink {header.dialect.name}",
        "directories": [
            {
                "path": directory.path,
                "references": directory.references,
                "bytes": directory.bytes,
                "own": directory.own,
            }
            for directory in summary.directories
        ],
    }


def described(properties: Properties) -> tuple[str, str | None]:
    return properties.name, properties.savepoint_format


def _operator(totals: OperatorTotals) -> Line:
    operator = totals.operator
    line: Line = {
        "operator_id": operator.operator_id,
        "parallelism": operator.parallelism,
        "max_parallelism": operator.max_parallelism,
        "subtasks_with_state": totals.subtasks,
        "state_size": totals.state_bytes,
        "class": "FullyFinishedOperatorState" if operator.fully_finished else "OperatorState",
        "fully_finished": operator.fully_finished,
    }
    if operator.name is not None:
        line["name"] = operator.name
    if operator.uid is not None:
        line["uid"] = operator.uid
    line["checkpointed_size"] = totals.checkpointed_bytes
    if totals.finished:
        line["finished_subtasks"] = totals.finished
    return line


def handle_line(handle: Handle) -> Line:
    line: Line = {
        "operator_id": handle.operator.operator_id,
        "subtask": handle.subtask,
        "kind": handle.kind,
        "state_class": handle.state_class,
        "handle_class": None,
    }
    if handle.stream and handle.state_class == "InMemoryChangelogStateHandle":
        # Changes that are kept inline are a state of their own, not a stream of one.
        line |= _inline(handle.stream)
    elif handle.stream:
        line["handle_class"] = handle.stream.handle_class
        line |= _stream(handle.stream, handle.local_name)
    if handle.keyed:
        line |= _keyed(handle, handle.keyed)
    if handle.local_name is not None:
        line["local_path"] = handle.local_name
    if handle.states is not None:
        line["partitions"] = {
            state.name: f"{state.mode}:{state.offsets}" for state in sorted(handle.states)
        }
        line["total_size"] = handle.state_bytes
    if handle.managed_directories:
        line["managed_directories"] = list(handle.managed_directories)
    if handle.operator.name is not None:
        line["operator_name"] = handle.operator.name
    return line


def _stream(stream: Stream, local_name: str | None) -> Line:
    if stream is EMPTY_SEGMENT:
        # Flink makes one up when it loads such a handle.
        stream = stream._replace(path="empty", written_path="empty", offset=0, name="DUMMY")
    identity = stream.name if stream.name is not None else stream.path
    line: Line = {
        "path_or_null": stream.path,
        "offset_or_null": stream.offset,
        "size": stream.bytes,
        "state_handle_id": identity if local_name is None else local_name,
        "physical_id": identity,
    }
    if stream.written_path != stream.path:
        line["relative_path"] = stream.written_path
    if stream.name is not None:
        line["handle_name"] = stream.name
    return line | _inline(stream)


def _inline(stream: Stream) -> Line:
    return (
        {}
        if stream.inline_at is None
        else {"inline_at": stream.inline_at, "inline_bytes": stream.bytes}
    )


def _keyed(handle: Handle, keyed: Keyed) -> Line:
    line: Line = {
        key: value
        for key, value in {
            "backend_id": keyed.backend_id,
            "keyed_handle_id": keyed.handle_id,
            "checkpointed_size": keyed.checkpointed_bytes,
        }.items()
        if value is not None
    }
    if keyed.state_class == "KeyGroupsSavepointStateHandle":
        line["keyed_handle_id"] = None  # not in the file; Flink makes up another one at each load
    if handle.kind.endswith("changelog-handle"):
        line["persisted_size"] = keyed.checkpointed_bytes
    if keyed.state_class == "InMemoryChangelogStateHandle":
        line["total_size"] = handle.state_bytes
    return line
