"""A cluster whose certificate is expired, self-signed or another host's is told of in words, and
nothing is sent to it.
"""

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.connection_test import probe
from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from ingest.sources import Auth, ClusterSource, Tls
from tests.ingest.flink_rest.certificates import server_side
from tests.ingest.flink_rest.serving import Server, recorded
from tests.ingest.test_shard_collector import serving

AT = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
WRONG = {
    "expired": ({"expired": True}, "certificate has expired"),
    "self-signed": ({"self_signed": True}, "self-signed certificate"),
    "another host": ({"host": "127.0.0.2"}, "127.0.0.1"),
}


def source(server: Server, ca_file: str) -> ClusterSource:
    secret = Auth("bearer", "token-of-the-cluster")
    return ClusterSource(
        "c",
        server.url,
        history_url=server.url,
        auth=secret,
        tls=Tls(ca_file=ca_file),
        request_timeout_s=5,
    )


@pytest.mark.parametrize("wrong", WRONG)
def test_the_reason_is_said_and_no_request_is_sent(tmp_path: Path, wrong: str) -> None:
    fault, word = WRONG[wrong]
    ca_file, context = server_side(tmp_path, **fault)  # type: ignore[arg-type]
    with serving(recorded("1.20.5/E"), tls=context) as (server,):
        (outcome,) = collect_shard(
            [source(server, ca_file)], {}, Lake(str(tmp_path / "lake")), at=lambda: AT
        )
        seen = probe(source(server, ca_file), timeout_s=10)
        assert server.asked == []
    assert not outcome.reachable
    for said in (outcome.error or "", " ".join(seen.misses)):
        assert "No trusted TLS connection" in said
        assert word in said
        assert "Check its CA file and certificates" in said
        assert "token-of-the-cluster" not in said
    assert not seen.reachable


def test_a_certificate_that_is_right_is_taken(tmp_path: Path) -> None:
    ca_file, context = server_side(tmp_path)
    assert isinstance(context, ssl.SSLContext)
    with serving(recorded("1.20.5/E"), tls=context) as (server,):
        (outcome,) = collect_shard(
            [source(server, ca_file)], {}, Lake(str(tmp_path / "lake")), at=lambda: AT
        )
        assert {headers.get("Authorization") for headers in server.headers} == {
            "Bearer token-of-the-cluster"
        }
    assert outcome.reachable
