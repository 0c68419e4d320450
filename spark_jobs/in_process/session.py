"""A session of Spark Connect whose server is this process: its client's own calls, answered where they are made."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import grpc
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.connect.client import ChannelBuilder
from pyspark.sql.connect.proto import base_pb2 as pb
from pyspark.sql.connect.proto import commands_pb2 as pc
from pyspark.sql.connect.session import SparkSession as ConnectSession
from pyspark.sql.connect.types import pyspark_types_to_proto_types

from spark_jobs.in_process import files
from spark_jobs.in_process.relations import Relations
from spark_jobs.in_process.values import Table, Unsupported

_MODE = "SPARK_CONNECT_MODE_ENABLED"
"""PySpark writes columns for Connect while this variable is set."""
_SIZES = ("CacheThreshold", "SizeLimit", "ChunkSizeRows", "ChunkSizeBytes", "BatchOfChunksSizeBytes")
_OPTIONS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # Rows that the client holds are part of its plan, however many.
    **{f"spark.sql.session.localRelation{name}": str(2**62) for name in _SIZES},
}
_DICTIONARY = "parquet.enable.dictionary#"


@contextmanager
def in_process_session() -> Iterator[SparkSession]:
    """Frames of it are evaluated here; no Java is started, nothing is asked of any server."""
    before = os.environ.get(_MODE)
    os.environ[_MODE] = "1"
    session = ConnectSession.builder.channelBuilder(_Here()).create()  # type: ignore[arg-type]  # documented to take any ChannelBuilder
    session.client.disable_reattachable_execute()
    try:
        yield session  # type: ignore[misc]  # the two kinds of sessions have no common base
    finally:
        with suppress(Exception):
            session.stop()
        if before is None:
            del os.environ[_MODE]
        else:
            os.environ[_MODE] = before


class _Here(ChannelBuilder):
    @property
    def host(self) -> str:
        return "in-process"

    def toChannel(self) -> grpc.Channel:
        return _Channel(_Service())


class _Channel(grpc.Channel):
    """Calls by their name, without a network."""

    def __init__(self, service: "_Service") -> None:
        self._answers: dict[str, Callable[[Any], Any]] = {
            "ExecutePlan": service.execute, "AnalyzePlan": service.analyze, "Config": service.config,
            "Interrupt": service.interrupt, "ReleaseSession": service.release,
        }  # fmt: skip

    def _call(self, method: str, *_: Any, **__: Any) -> Callable[..., Any]:
        name = method.rsplit("/", 1)[-1]

        def answer(request: Any, **_: Any) -> Any:
            if name not in self._answers:
                raise Unsupported(f"the call {name}")
            return self._answers[name](request)

        return answer

    unary_unary = unary_stream = stream_unary = stream_stream = _call

    def subscribe(self, callback: Any, try_to_connect: bool = False) -> None:
        """The state of this channel never changes."""

    def unsubscribe(self, callback: Any) -> None:
        """No callback was ever called."""

    def close(self) -> None:
        """There is nothing open."""

    def __enter__(self) -> "_Channel":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Service:
    def __init__(self) -> None:
        self._relations = Relations()
        self._options = dict(_OPTIONS)

    def execute(self, request: pb.ExecutePlanRequest) -> Iterator[pb.ExecutePlanResponse]:
        def response(**given: Any) -> pb.ExecutePlanResponse:
            return pb.ExecutePlanResponse(session_id=request.session_id, operation_id=request.operation_id, **given)

        if request.plan.WhichOneof("op_type") == "command":
            self._command(request.plan.command)
        else:
            table = self._relations.table(request.plan.root)
            yield response(schema=pyspark_types_to_proto_types(table.schema))
            yield response(arrow_batch=_batch(table))
        yield response(result_complete=pb.ExecutePlanResponse.ResultComplete())

    def _command(self, command: pc.Command) -> None:
        write = command.write_operation
        if command.WhichOneof("command_type") != "write_operation" or write.source != "parquet" or write.partitioning_columns:
            raise Unsupported(f"the command {command.WhichOneof('command_type')}")
        mode = "overwrite" if write.mode == pc.WriteOperation.SAVE_MODE_OVERWRITE else "error"
        requested = {name.removeprefix(_DICTIONARY): value == "true" for name, value in write.options.items()}
        files.write(self._relations.table(write.input), write.path, mode, requested)

    def analyze(self, request: pb.AnalyzePlanRequest) -> pb.AnalyzePlanResponse:
        answer = pb.AnalyzePlanResponse(session_id=request.session_id)
        match request.WhichOneof("analyze"):
            case "schema":
                schema = self._relations.table(request.schema.plan.root).schema
                answer.schema.schema.CopyFrom(pyspark_types_to_proto_types(schema))
            case "persist":
                answer.persist.SetInParent()
            case "unpersist":
                answer.unpersist.SetInParent()
            case other:
                raise Unsupported(f"analyzing {other}")
        return answer

    def config(self, request: pb.ConfigRequest) -> pb.ConfigResponse:
        operation, answer = request.operation, pb.ConfigResponse(session_id=request.session_id)
        match operation.WhichOneof("op_type"):
            case "set":
                self._options.update({pair.key: pair.value for pair in operation.set.pairs})
            case "get":
                answer.pairs.extend(pb.KeyValue(key=key, value=self._options.get(key)) for key in operation.get.keys)
            case "get_with_default":
                pairs = operation.get_with_default.pairs
                answer.pairs.extend(pb.KeyValue(key=pair.key, value=self._options.get(pair.key, pair.value)) for pair in pairs)
            case other:
                raise Unsupported(f"the option call {other}")
        return answer

    def interrupt(self, request: pb.InterruptRequest) -> pb.InterruptResponse:
        return pb.InterruptResponse(session_id=request.session_id)

    def release(self, request: pb.ReleaseSessionRequest) -> pb.ReleaseSessionResponse:
        return pb.ReleaseSessionResponse(session_id=request.session_id)


def _batch(table: Table) -> pb.ExecutePlanResponse.ArrowBatch:
    columns = [column.to_arrow() for column in table.columns]
    # By way of a struct, which keeps the number of rows where nothing is selected.
    rows = pa.StructArray.from_arrays(columns, names=table.names) if columns else pa.array([{}] * table.rows, pa.struct([]))
    batch = pa.RecordBatch.from_struct_array(rows)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return pb.ExecutePlanResponse.ArrowBatch(row_count=table.rows, data=sink.getvalue().to_pybytes())
