"""JSON records that are not kept, told without decoding them."""

import re

from ingest.flink_logs.record_splitter import may_be_read

_QUIET = re.compile(rb'"(?:log\.)?level": ?"(?:INFO|DEBUG|TRACE)"').search
_LOUD = re.compile(rb'"(?:WARN|ERROR|FATAL)').search
_MESSAGE = b'"message":'


def is_routine(line: bytes) -> bool:
    """Whether a line of a JSON log surely is a record that is not kept: most are, and need not be decoded then."""
    at = line.find(_MESSAGE) + len(_MESSAGE)
    if at < len(_MESSAGE) or not line.startswith(b"{") or not line.endswith(b"}"):
        return False
    if may_be_read(line, at + (2 if line[at : at + 1] == b" " else 1)) or line.find(_MESSAGE, at) >= 0:
        return False
    return b"\\u" not in line and b"\\/" not in line and _QUIET(line) is not None and _LOUD(line) is None
