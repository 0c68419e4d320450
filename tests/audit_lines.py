"""Lines of an HDFS audit log of the calls that a real Flink made through Flink's own HDFS file
system while an incident was played.

No NameNode took part: the calls, their times and paths are real, the line around them is what
Hadoop documents and prints in public logs (``2019-02-18 18:14:35,396 INFO FSNamesystem.audit:
allowed=true⇥ugi=hive (auth:SIMPLE)⇥ip=/10.0.0.1⇥cmd=delete⇥…``).
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from tests.played_calls import Call

NAMES = {
    "create": "create",
    "rename": "rename",
    "delete": "delete",
    "getFileInfo": "getfileinfo",
    "mkdirs": "mkdirs",
}
"""Of calls that a NameNode logs, as it names them."""
PERM = {
    "create": "flink:hadoop:rw-r--r--",
    "mkdirs": "flink:hadoop:rwxr-xr-x",
    "rename": "flink:hadoop:rw-r--r--",
}


def audit_text(calls: Iterable[Call], zone: str = "UTC", address: str = "10.0.0.1") -> bytes:
    return "".join(_lines(calls, ZoneInfo(zone), address)).encode()


def _lines(calls: Iterable[Call], zone: ZoneInfo, address: str) -> Iterator[str]:
    for call in calls:
        if call.kind in NAMES:
            at = datetime.fromtimestamp(call.at_ms / 1000, UTC).astimezone(zone)
            target = f"{call.path}.moved" if call.kind == "rename" else "null"
            yield (
                f"{at:%Y-%m-%d %H:%M:%S},{call.at_ms % 1000:03d} INFO FSNamesystem.audit: "
                "allowed=true\tugi=flink (auth:SIMPLE)\t"
                f"ip=/{address}\tcmd={NAMES[call.kind]}\tsrc={call.path}\tdst={target}\tperm={PERM.get(call.kind, 'null')}\tproto=rpc\n"
            )
