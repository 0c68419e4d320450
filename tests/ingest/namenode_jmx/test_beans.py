"""JMX of a NameNode as Hadoop's references have it, and as nobody should answer."""

from datetime import UTC, datetime

import pytest

from ingest.errors import Skipped
from ingest.namenode_jmx.beans import MOST_OPERATIONS, QUERIES, sample
from tests.namenode_beans import answer

AT = datetime(2026, 3, 1, tzinfo=UTC)
CALLS = {"create": 40, "addBlock": 44, "complete": 40, "getFileInfo": 90, "rename2": 0}


def told(**more):
    return sample([answer(query, CALLS, **more) for query in QUERIES], AT)


def test_load_capacity_and_calls_by_kind_are_read_over_all_ports():
    found = told()
    assert (found.ts, found.ha_state) == (AT, "active")
    assert (found.rpc_calls, found.rpc_queue_ms, found.rpc_processing_ms) == (
        sum(CALLS.values()) + 10,
        0.4,
        0.25,
    )
    assert found.call_queue_length == 3
    assert (found.files, found.blocks, found.used_bytes) == (1204, 990, 600)
    assert (found.heap_used_bytes, found.heap_max_bytes) == (537_395_200, 1 << 30)
    assert [(one.name, one.calls) for one in found.operations] == [
        ("getFileInfo", 90),
        ("addBlock", 44),
        ("complete", 40),
        ("create", 40),
        ("sendHeartbeat", 10),
    ]


def test_what_it_does_not_say_is_unknown():
    found = sample(
        [
            {"beans": []},
            {"beans": []},
            {"beans": [{"name": "Hadoop:service=NameNode,name=FSNamesystem"}]},
        ],
        AT,
    )
    assert {found.ha_state, found.rpc_calls, found.rpc_queue_ms, found.files, found.used_bytes} == {
        None
    }
    assert found.operations == ()


def test_kinds_are_bounded_and_those_of_most_calls_are_kept():
    bean = {
        "name": "Hadoop:service=NameNode,name=RpcDetailedActivityForPort8020",
        **{f"K{number}NumOps": number for number in range(1000)},
    }
    found = sample([{"beans": [bean]}], AT)
    assert [one.calls for one in found.operations] == list(range(999, 999 - MOST_OPERATIONS, -1))


@pytest.mark.parametrize(
    "body", [{"beans": []}, {}, {"beans": [{"name": "java.lang:type=Memory"}]}, [], {"beans": 3}]
)
def test_what_is_no_namenode_is_refused(body):
    with pytest.raises(Skipped):
        sample([body] * 3, AT)
