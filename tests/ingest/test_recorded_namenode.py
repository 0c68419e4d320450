"""What a real NameNode said, wrote and printed: `tests/fixtures/namenode`."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.namenode_jmx.beans import sample
from ingest.storage.inventory import import_inventory
from ingest.storage.roots import Root
from tests.ingest.storage.test_listing import rows

RECORDED = Path(__file__).parents[1] / "fixtures" / "namenode" / "2.7.3"
AT = datetime(2026, 11, 24, 15, 17, tzinfo=UTC)
JOB = "a" * 32
FILES = {
    "chk-7/_metadata": (500, 1),
    "chk-7/empty": (0, 1),
    "shared/0b1c": (300_000, 2),
    "shared/with space": (90_000, 1),
}
"""Bytes and copies, as they were put there."""


def test_its_jmx_is_read_whole():
    bodies = [
        json.loads((RECORDED / f"{name}.json").read_text("utf-8"))
        for name in ("rpc", "rpc-detailed", "fsnamesystem")
    ]
    found = sample(bodies, AT)
    (rpc,), (detailed,), (system,) = (body["beans"] for body in bodies)
    assert found.ha_state == "active"
    assert (found.rpc_calls, found.rpc_queue_ms) == (
        rpc["RpcQueueTimeNumOps"],
        rpc["RpcQueueTimeAvgTime"],
    )
    assert found.rpc_processing_ms == rpc["RpcProcessingTimeAvgTime"]
    assert (found.files, found.blocks) == (11, 3)
    assert found.used_bytes == system["CapacityUsed"]
    calls = {one.name: one.calls for one in found.operations}
    assert (calls["create"], calls["addBlock"], calls["rename"], calls["setReplication"]) == (
        4,
        3,
        4,
        1,
    )
    assert len(calls) == sum(key.endswith("NumOps") for key in detailed)


@pytest.mark.parametrize("listing", ["ls-R.txt", "image.tsv"])
def test_its_listings_give_the_files_with_their_copies_and_nothing_else(listing, tmp_path):
    listed = import_inventory(
        str(RECORDED / listing), Root("hdfs://ns/flink/checkpoints"), str(tmp_path / "out"), AT
    )
    found = {
        row["path"].removeprefix(f"hdfs://ns/flink/checkpoints/{JOB}/"): (
            row["bytes"],
            row["replication"],
        )
        for row in rows(listed)
    }
    assert found == FILES
    assert listed.unlisted == ()
    assert all(
        row["modified"].replace(second=0, microsecond=0)
        == datetime(2026, 11, 24, 15, 15, tzinfo=UTC)
        for row in rows(listed)
    )
