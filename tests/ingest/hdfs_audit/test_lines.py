"""Single lines of audit logs: as several releases of Hadoop print them, and damaged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.hdfs_audit.tail import AuditLine, audit_line

JOB = "0dc06dbee0580234b587e3526dafc904"
HEAD = b"2019-02-18 18:14:35,396 INFO FSNamesystem.audit: "


@pytest.mark.parametrize(
    "line, expected",
    [
        (
            HEAD
            + (
                b"allowed=true\tugi=hive "
                b"(auth:SIMPLE)\tip=/10.0.0.7\tcmd=delete\tsrc=/user/hive/.staging\tdst=null\tperm=null\tproto=rpc"
            ),
            AuditLine("2019-02-18 18:14:35", "delete", "hive", "10.0.0.7", None, True),
        ),
        (
            HEAD.replace(b"FSN", b"org.apache.hadoop.hdfs.server.namenode.FSN")
            + (
                b"allowed=false\tugi=flink/h@REALM (auth:PROXY) via yarn "
                b"(auth:KERBEROS)\tip=/10.0.0.7\tcmd=rename (options=[OVERWRITE])\t"
            )
            + f"src=/flink/{JOB}/chk-1/_metadata.inprogress\tdst=/flink/x\tperm=a:b:rw-r--r--\tproto=rpc\tcallerContext=CLI".encode(),
            AuditLine("2019-02-18 18:14:35", "rename", "flink/h@REALM", "10.0.0.7", JOB, False),
        ),
        (
            HEAD
            + b"allowed=true   ugi=hive (auth:SIMPLE)  ip=/10.0.0.7   cmd=getfileinfo src=/a b/"
            + JOB.encode()
            + b"  dst=null  perm=null",
            AuditLine("2019-02-18 18:14:35", "getfileinfo", "hive", "10.0.0.7", JOB, True),
        ),
        (HEAD + b"allowed=true\tugi=hive (auth:SIMPLE)\tip=/10.0.0.7\tcmd=delete\tsrc=/user", None),
        (b"2019-02-18 18:14:35,396 INFO FSNamesystem: Roll Edit Log from 10.0.0.7", None),
        (b"", None),
    ],
)
def test_a_line_is_read_as_the_name_node_means_it(line, expected):
    assert audit_line(line) == expected


def test_a_path_can_not_change_who_called():
    forged = (
        b"allowed=true\tugi=eve (auth:SIMPLE)\tip=/10.0.0.9\tcmd=create\tsrc=/x ugi=root "
        b"ip=/1.1.1.1 cmd=mkdirs\tdst=null\tperm=null"
    )
    found = audit_line(HEAD + forged)
    assert found and (found.user, found.address, found.cmd) == ("eve", "10.0.0.9", "create")


@given(st.binary(max_size=200), st.integers(0, 150))
def test_damage_raises_nothing(damage, place):
    line = HEAD + (
        b"allowed=true\tugi=hive "
        b"(auth:SIMPLE)\tip=/10.0.0.7\tcmd=delete\tsrc=/user/hive\tdst=null\tperm=null\tproto=rpc"
    )
    audit_line(line[:place] + damage + line[place:])
