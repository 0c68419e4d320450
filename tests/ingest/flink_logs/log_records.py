"""Records of bytes, as the reader of a whole file returns them."""

from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_logs.log_reader import LogReader
from ingest.flink_logs.record_splitter import Keep
from ingest.records import LogRecord


def records_of(
    data: bytes, *, file: str, layout: str = "flink", time_zone: str = "UTC", keep: Keep = "events"
) -> list[LogRecord]:
    compiled = layout_of(layout)
    reader = LogReader(compiled, zone_of(time_zone, compiled), file=file, keep=keep)
    return [*reader.feed(data), *reader.close()]
