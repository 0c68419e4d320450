"""Headers and handles as JSON objects, named and written as Flink's own objects describe
themselves.

A key is left out where it does not apply to a handle; it is null where it applies and is unknown.
"""

from typing import Any

from ingest.metadata.pieces import Channel, Handle, Keyed, Properties, Stream
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
        "properties": properties and describe(properties),
        "flink": None,  # who read it; this is not Flink
        "file": path,
        "file_size": summary.bytes,
        "written_by": f"Flink {header.dialect.name}",
        "is_savepoint": properties and properties.is_savepoint,
        "discard": properties and properties.flags,
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


def describe(properties: Properties) -> str:
    """``CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}`` and the like."""
    if properties.is_savepoint:
        rest = (
            f"postCheckpointAction={properties.post_action}, "
            f"formatType={properties.savepoint_format}"
        )
    else:
        rest = f"sharingFilesStrategy={properties.sharing}"
    return f"{properties.type_class}{{name='{properties.name}', {rest}}}"


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
    if handle.stream and handle.keyed and handle.keyed.sequence:
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
    if handle.channel:
        line |= _channel(handle.kind, handle.channel)
    if handle.operator.name is not None:
        line["operator_name"] = handle.operator.name
    return line


def _stream(stream: Stream, local_name: str | None) -> Line:
    if stream is EMPTY_SEGMENT:
        # Flink makes one up when it loads such a handle.
        stream = stream._replace(
            path="empty", written_path="empty", offset=0, name="DUMMY", scope="EXCLUSIVE"
        )
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
    if stream.scope:
        line["scope"] = stream.scope
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
    first = keyed.first_key_group if keyed.key_groups else 0
    line: Line = {"key_groups": [first, first + keyed.key_groups - 1]}
    optional = {
        "backend_id": keyed.backend_id,
        "handle_checkpoint_id": keyed.checkpoint_id,
        "keyed_handle_id": keyed.handle_id,
        "checkpointed_size": keyed.checkpointed_bytes,
    }
    line |= {key: value for key, value in optional.items() if value is not None}
    if keyed.state_class == "KeyGroupsSavepointStateHandle":
        line["keyed_handle_id"] = None  # not in the file; Flink makes up another one at each load
    if handle.kind.endswith("changelog-handle"):
        line |= {
            "materialization_id": keyed.materialization_id,
            "persisted_size": keyed.checkpointed_bytes,
        }
    if handle.stream_offset is not None:
        line |= {
            "stream_offset": handle.stream_offset,
            "stream_total_size": keyed.total_bytes,
            "storage": keyed.storage,
        }
    if keyed.sequence:
        line |= {
            "total_size": handle.state_bytes,
            "from": keyed.sequence[0],
            "to": keyed.sequence[1],
        }
    return line


def _channel(kind: str, channel: Channel) -> Line:
    info = None
    if channel.gate is not None:
        names = ("InputChannelInfo", "gateIdx", "inputChannelIdx")
        if kind == "channel-output":
            names = ("ResultSubpartitionInfo", "partitionIdx", "subPartitionIdx")
        info = f"{names[0]}{{{names[1]}={channel.gate}, {names[2]}={channel.channel}}}"
    line: Line = {
        "channel_size": channel.bytes,
        "subtask_index": channel.subtask_index,
        "channel_info": info,
        "offsets": None if channel.offsets is None else list(channel.offsets),
    }
    if channel.serialized_offsets_bytes is not None:
        line["serialized_offsets_bytes"] = channel.serialized_offsets_bytes
    return line
