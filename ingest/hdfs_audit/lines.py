"""One line of an HDFS audit log.

Source: ``FSNamesystem.DefaultAuditLogger`` of Hadoop 2 and 3 with the layout ``%d{ISO8601} %p
%c{2}: %m%n`` of its log4j.properties: fields ``allowed``, ``ugi``, ``ip``, ``cmd``, ``src``,
``dst``, ``perm`` in this order, each behind a tab; newer ones come after them. Shippers make spaces
of tabs. A NameNode logs what names a path; addBlock, fsync and complete, which each written file
costs, it does not.
"""

import re
from typing import NamedTuple

LONGEST_BYTES = 16 * 1024
_BEFORE_FIELD = re.compile(rb" +(?=(?:ugi|ip|cmd|src|dst)=)")
_LINE = re.compile(
    rb"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[ "
    rb"T](?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})[,.][0-9]{3}[^\t\n]{0,200}?"
    rb"allowed=(?P<allowed>true|false)\t+ugi=(?P<user>[^\t\n]*)\t+ip=/?(?P<address>[^\t\n]*)\t+"
    rb"cmd=(?P<cmd>[^\t\n]*)\t+src=(?P<src>[^\t\n]*)\t"
)
_JOB = re.compile(rb"/([0-9a-f]{32})(?:/|$)")
_LONGEST_NAME = 100


class AuditLine(NamedTuple):
    """``second``: as the NameNode's clock and zone have it. ``job_id``: None where the path names
    no job.
    """

    second: str
    cmd: str
    user: str
    address: str
    job_id: str | None
    allowed: bool


def audit_line(line: bytes) -> AuditLine | None:
    if len(line) > LONGEST_BYTES:
        return None
    match = _LINE.match(line) or _LINE.match(_BEFORE_FIELD.sub(b"\t", line))
    if match is None:
        return None
    of_job = _JOB.search(match["src"])
    return AuditLine(
        f"{match['day'].decode()} {match['time'].decode()}",
        _first_word(match["cmd"]),
        _first_word(match["user"]),
        _first_word(match["address"]),
        of_job[1].decode() if of_job else None,
        match["allowed"] == b"true",
    )


def _first_word(text: bytes) -> str:
    """``rename (options=[OVERWRITE])`` is a rename, ``flink (auth:SIMPLE)`` a call of flink."""
    return text.decode("utf-8", "replace").partition(" ")[0][:_LONGEST_NAME]
