"""JSON records that are not kept, recognised without decoding them."""

import re

from ingest.flink_logs.record_splitter import may_be_read

_QUIET = re.compile(rb'"(?:log\.)?level": ?"(?:INFO|DEBUG|TRACE)"').search
_LOUD = re.compile(rb'"(?:WARN|ERROR|FATAL)').search
_MESSAGE = b'"message":'


def is_routine(line: bytes) -> bool:
    at = line.find(_MESSAGE) + len(_MESSAGE)
    if at < len(_MESSAGE) or not line.startswith(b"{") or not line.endswith(b"}"):
        return False
    quote = at + (line[at : at + 1] == b" ")
    if line[quote : quote + 1] != b'"' or may_be_read(line, quote + 1):
        return False
    # Of several messages or levels, some in inner objects, the record's own is not known without
    # decoding.
    if (
        line.count(b'essage"') != 1
        or b'msg"' in line
        or line.count(b'level"') != 1
        or b'levelname"' in line
        or b'severity"' in line
    ):
        return False
    return (
        b"\\u" not in line
        and b"\\/" not in line
        and _QUIET(line) is not None
        and _LOUD(line) is None
    )
