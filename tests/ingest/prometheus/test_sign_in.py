"""Debian's Prometheus behind a password and a certificate of an own authority, holding samples that
a real Flink reported.
"""

import pytest

from ingest.connection_test import probe
from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from ingest.sources import Auth, ClusterSource, PrometheusSource
from tests.ingest.flink_rest.certificates import make_certificates
from tests.ingest.prometheus.openmetrics import as_openmetrics
from tests.ingest.prometheus.test_in_a_shard import AT, CURSOR, prometheus
from tests.ingest.prometheus.test_recorded import STEP_S, lines
from tests.ingest.test_shard_collector import rows, serving
from tests.lab.prometheus import EXECUTABLE, Server

VERSION = "1.20.5"
PASSWORD = "canary-password"
BCRYPT = "$2b$04$oZokkD5Ida7NhbBDqMBbXOTGKwMFeja33CcNZHNKtuoMpPrJ.bWRO"
"""Of that password."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """The server, and the file of the authority of its certificate."""
    if EXECUTABLE is None:
        pytest.skip("Prometheus is not installed: apt-get install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    made = make_certificates(folder)
    tls = {"cert_file": str(folder / "server.pem"), "key_file": str(folder / "server.key")}
    server = Server(folder, web={"basic_auth_users": {"weir": BCRYPT}, "tls_server_config": tls})
    server.hold(as_openmetrics(lines(VERSION, "prometheus")))
    with server:
        yield server, made.ca_file


def source(server, ca_file, secret=PASSWORD):
    there = PrometheusSource(server.url, 'cluster="lab"', Auth("basic", secret, "weir"), ca_file)
    return ClusterSource("lab", prometheus=there, metrics_interval_s=STEP_S)


def collect(source, lake):
    (outcome,) = collect_shard([source], CURSOR, lake, at=lambda: AT)
    return outcome


def test_with_the_password_and_the_authority_it_is_read(guarded, tmp_path):
    outcome = collect(source(*guarded), Lake(str(tmp_path)))
    assert (outcome.error, outcome.jobs_seen) == (None, 1)
    assert any(row["busy_ms_per_s"] for row in rows(Lake(str(tmp_path)), "vertex_metrics"))


def test_a_wrong_password_is_said_and_not_repeated(guarded, tmp_path):
    server, ca_file = guarded
    outcome = collect(source(server, ca_file, "canary-wrong"), Lake(str(tmp_path)))
    assert not outcome.reachable
    assert "401" in outcome.error
    assert "canary" not in outcome.error
    assert outcome.cursor["prometheus"] == CURSOR["lab"]["prometheus"]


def test_without_its_authority_it_is_not_asked_whatever_is_accepted_of_the_cluster(
    guarded, tmp_path
):
    seen = probe(source(guarded[0], ""), 10)
    assert not seen.reachable
    assert "No trusted TLS connection" in seen.misses[0]
    assert PASSWORD not in str(seen)


def test_a_token_and_a_tenant_go_with_every_request(tmp_path):
    with serving(prometheus) as (metrics,):
        there = PrometheusSource(
            metrics.url, 'cluster="lab"', Auth("bearer", "canary-token"), tenant="team-a"
        )
        collect(
            ClusterSource("lab", prometheus=there, metrics_interval_s=STEP_S), Lake(str(tmp_path))
        )
    sent = [{name.lower(): value for name, value in headers.items()} for headers in metrics.headers]
    assert sent
    for headers in sent:
        assert headers["authorization"] == "Bearer canary-token"
        assert headers["x-scope-orgid"] == headers["thanos-tenant"] == "team-a"
