"""A Kubernetes as a source: by kubeconfig and by service account.

The server is one of the tests (:mod:`tests.kubernetes_api`), over real HTTPS; no real API server
has been asked.
"""

import base64
from pathlib import Path
from time import monotonic

import pytest
import yaml

from ingest.discovery.declared import parse_sources
from ingest.discovery.kubernetes import access, reading
from ingest.discovery.reading import read_sources
from ingest.messages import Message
from tests import kubernetes_objects as objects
from tests.kubernetes_api import TOKEN, KubernetesApi, ok, status


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    api = KubernetesApi(tmp_path_factory.mktemp("api"))
    yield api
    api.stop()


@pytest.fixture
def api(server):
    for held in server.held.values():
        held.clear()
    server.odd, server.page = {}, 500
    server.asked.clear()
    reading._listed.clear()
    return server


def read(api, *, kubeconfig="", **own):
    source = {
        "name": "k8s",
        "kubernetes": {"kubeconfig": kubeconfig or api.kubeconfig(), **own.pop("kubernetes", {})},
        **own,
    }
    return read_sources(parse_sources({"sources": [source]}))[0]


def urls(listing):
    return {one.name: one.url for one in listing.clusters}


def test_what_the_operator_and_native_mode_run_are_clusters_with_their_addresses_and_labels(api):
    api.put(
        "flinkdeployments",
        objects.deployment(
            "orders", team="shop", environment="prod", **{"app.kubernetes.io/part-of": "store"}
        ),
    )
    api.put("flinkdeployments", objects.deployment("carts", "money", job=False, port=9081))
    api.put("services", objects.rest_service("orders", port=80))
    api.put("services", objects.rest_service("bills", "money", region="eu"))
    found = read(api, labels={"part": "{__meta_kubernetes_label_app_kubernetes_io_part_of}"})
    assert not found.error and not found.refused
    assert urls(found) == {
        "money.bills": "http://bills-rest.money:8081",
        "money.carts": "http://carts-rest.money:9081",
        "shop.orders": "http://orders-rest.shop:80",
    }
    assert {one.name: dict(one.labels) for one in found.clusters} == {
        "money.bills": {"namespace": "money", "region": "eu"},
        "money.carts": {"namespace": "money"},
        "shop.orders": {
            "namespace": "shop",
            "team": "shop",
            "environment": "prod",
            "part": "store",
        },
    }


def test_clusters_come_and_go(api):
    orders = objects.deployment("orders")
    api.put("flinkdeployments", orders)
    assert set(urls(read(api))) == {"shop.orders"}
    api.put("flinkdeployments", objects.deployment("carts"))
    api.put("services", objects.rest_service("carts", port=99))
    assert urls(read(api)) == {
        "shop.orders": "http://orders-rest.shop:8081",
        "shop.carts": "http://carts-rest.shop:99",
    }
    api.delete("flinkdeployments", orders)
    assert set(urls(read(api))) == {"shop.carts"}


def test_pages_of_a_list_are_read_to_the_last(api):
    api.page = 3
    for number in range(8):
        api.put("flinkdeployments", objects.deployment(f"d{number}"))
    assert len(read(api).clusters) == 8


def test_a_pod_signs_in_by_its_service_account_and_its_own_namespace(api, monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api.port))
    monkeypatch.setattr(access.in_cluster, "__defaults__", (api.service_account(),))
    api.put("flinkdeployments", objects.deployment("orders"))
    api.put("flinkdeployments", objects.deployment("carts", "money"))
    everywhere, own = read_sources(
        parse_sources(
            {
                "sources": [
                    {"name": "a", "kubernetes": {}},
                    {"name": "b", "kubernetes": {"namespaces": ["@own"]}},
                ]
            }
        )
    )
    assert (set(urls(everywhere)), set(urls(own))) == (
        {"shop.orders", "money.carts"},
        {"shop.orders"},
    )


def test_outside_of_a_pod_it_says_so(api, monkeypatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    (found,) = read_sources(parse_sources({"sources": [{"name": "a", "kubernetes": {}}]}))
    assert "runs in no pod" in found.error


def test_a_client_certificate_signs_in_as_data_and_as_files_beside_the_kubeconfig(api):
    api.put("flinkdeployments", objects.deployment("orders"))
    data = {
        f"client-{part}-data": base64.b64encode(Path(path).read_bytes()).decode()
        for part, path in _client(api).items()
    }
    assert set(urls(read(api, kubeconfig=api.kubeconfig(user=data)))) == {"shop.orders"}
    files = {f"client-{part}": Path(path).name for part, path in _client(api).items()}
    found = read(
        api,
        kubeconfig=api.kubeconfig(
            user=files,
            cluster={"certificate-authority-data": "", "certificate-authority": "ca.pem"},
        ),
    )
    assert set(urls(found)) == {"shop.orders"}


def _client(api):
    return {"certificate": api.cert_file, "key": api.key_file}


def test_a_context_is_taken_by_its_name(api):
    api.put("flinkdeployments", objects.deployment("orders"))
    path = api.kubeconfig(context="west", current="")
    assert "no current-context" in read(api, kubeconfig=path).error
    assert set(urls(read(api, kubeconfig=path, kubernetes={"context": "west"}))) == {"shop.orders"}
    assert (
        "no entry 'east' in contexts"
        in read(api, kubeconfig=path, kubernetes={"context": "east"}).error
    )


@pytest.mark.parametrize(
    ("user", "cluster", "why"),
    [
        (
            {"exec": {"command": "/bin/sh", "args": ["-c", "touch /tmp/x"]}},
            {},
            "Weir runs no program that a file names",
        ),
        ({"auth-provider": {"name": "gcp"}}, {}, "Weir runs no program that a file names"),
        ({"username": "u", "password": "canary-password"}, {}, "API servers no longer accept"),
        ({"token": "canary\nX-Evil: 1"}, {}, "not allowed in a token"),
        ({"client-certificate-data": "!!"}, {}, "not base64"),
        ({"client-certificate-data": base64.b64encode(b"x").decode()}, {}, "both are needed"),
        ({"tokenFile": "none"}, {}, "cannot be opened"),
        ({"token": 7}, {}, "is not text"),
        ({}, {}, "HTTP 401"),
        (
            None,
            {"certificate-authority-data": base64.b64encode(b"canary").decode()},
            "not a PEM certificate",
        ),
        (None, {"certificate-authority-data": ""}, "No trusted TLS connection"),
        (None, {"tls-server-name": "other.example"}, "No trusted TLS connection"),
        (None, {"server": "http://127.0.0.1:1"}, "Weir sends credentials only over HTTPS"),
        (None, {"server": "https://u:p@x"}, "must be such as"),
        (None, {"server": "https://169.254.169.254"}, "never asks"),
        (None, {"server": "https://127.0.0.1:1"}, "cannot be reached"),
        (None, {"proxy-url": "http://proxy:3128"}, "no proxy"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_why_and_no_secret(api, user, cluster, why):
    found = read(api, kubeconfig=api.kubeconfig("odd", user=user, cluster=cluster))
    assert why in found.error and not found.clusters
    assert "canary" not in found.error and TOKEN not in found.error


@pytest.mark.parametrize("content", ["[]", "a: *b", "{", "\0", "x: " + "[" * 100])
def test_a_file_that_is_no_kubeconfig_is_an_error_of_the_source(api, tmp_path, content):
    (tmp_path / "k").write_text(content)
    error = read(api, kubeconfig=str(tmp_path / "k")).error
    assert isinstance(error, Message)
    assert isinstance(error.values["why"], Message), "it could not be translated"


@pytest.mark.parametrize("code", [401, 403, 429, 500, 503])
def test_a_status_that_is_none_of_success_is_an_error_and_drops_nothing(api, code):
    api.put("flinkdeployments", objects.deployment("orders"))
    read(api)
    api.odd = {"flinkdeployments": status(code)}
    found = read(api)
    assert str(code) in found.error and "canary" not in found.error and not found.clusters
    api.odd = {}
    api.put("flinkdeployments", objects.deployment("carts"))
    assert set(urls(read(api))) == {"shop.orders", "shop.carts"}


def test_a_server_that_is_overloaded_is_not_asked_again_at_once(api):
    api.odd = {"flinkdeployments": status(429)}
    api.asked.clear()
    began = monotonic()
    assert "429" in read(api).error
    attempts = sum("flinkdeployments" in path for path in api.asked)
    assert monotonic() - began >= attempts - 1


def test_resources_that_may_not_be_read_beside_deployments_are_said_and_stop_nothing(api):
    api.put("flinkdeployments", objects.deployment("orders"))
    api.odd = {
        "/events": status(403),
        "flinksessionjobs": status(403),
        "flinkstatesnapshots": status(404),
    }
    found = read(api)
    assert set(urls(found)) == {"shop.orders"} and not found.error
    assert {one.what.rpartition("/")[2] for one in found.refused} == {"events", "flinksessionjobs"}
    (event,) = found.clusters[0].operator.events
    assert (event.reason, event.job_id) == ("Reconciled", objects.JOB)


def test_without_the_operator_native_clusters_are_found_and_its_absence_is_no_error_unless_it_is_asked_for(
    api,
):
    api.put("services", objects.rest_service("bills"))
    api.odd = {
        "flink.apache.org": (
            b"HTTP/1.1 404 Not ListedObjects\r\ncontent-length: 19\r\n\r\n404 page not found\n"
        )
    }
    assert set(urls(read(api))) == {"shop.bills"}
    assert "CustomResourceDefinition" in read(api, kubernetes={"read": ["deployments"]}).error


def test_a_definition_that_is_gone_while_its_resources_are_known_drops_none_of_them(api):
    api.put("flinkdeployments", objects.deployment("orders"))
    read(api)
    api.odd = {"flinkdeployments": status(404)}
    assert "404" in read(api).error


def test_an_address_may_be_a_pattern_with_scheme_and_path(api):
    api.put("flinkdeployments", objects.deployment("orders"))
    pattern = "https://api.example:6443/api/v1/namespaces/{namespace}/services/{service}:rest/proxy"
    found = read(api, kubernetes={"address": pattern}, cluster="{__meta_kubernetes_name}")
    assert urls(found) == {
        "orders": "https://api.example:6443/api/v1/namespaces/shop/services/orders-rest:rest/proxy"
    }


def test_a_name_that_leads_to_an_address_that_is_never_asked_is_refused(api):
    api.put("flinkdeployments", objects.deployment("orders"))
    (refused,) = read(api, kubernetes={"address": "169.254.169.254:80"}).refused
    assert "never asks" in refused.why


@pytest.mark.parametrize("before_1_15", [True, False])
def test_the_jobmanager_that_leads_is_followed_as_it_moves(api, before_1_15):
    def leads(url, **own):
        api.put("configmaps", objects.leader_map(url, before_1_15=before_1_15, **own))

    api.put("flinkdeployments", objects.deployment("orders"))
    leads("http://10.0.0.1:8081")
    leads("http://10.0.0.9:8081", cluster_id="alone")
    wanted = {"kubernetes": {"leader": True}}
    assert urls(read(api, **wanted)) == {
        "shop.alone": "http://10.0.0.9:8081",
        "shop.orders": "http://10.0.0.1:8081",
    }
    leads("http://10.0.0.2:8081")
    leads("", cluster_id="alone")
    found = read(api, **wanted)
    assert urls(found) == {"shop.orders": "http://10.0.0.2:8081"}
    assert [(one.name, one.why) for one in found.refused] == [
        ("shop.alone", "it has no leader now; it stays unchanged")
    ]
    assert urls(read(api)) == {"shop.orders": "http://orders-rest.shop:8081"}


def _bookmark(version):
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}}


@pytest.mark.parametrize(
    "raw",
    [
        ok([]),
        ok({"items": {}, "metadata": {}}),
        ok({"items": [{}], "metadata": {"resourceVersion": "1", "continue": "x"}}),
        ok({"items": [], "metadata": {"resourceVersion": "1", "continue": "x"}}),
        ok({"items": [{}], "metadata": {"continue": [1]}}),
        b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{",
        ok("[" * 100_000),
        b"HTTP/1.1 200 OK\r\ncontent-length: 33554500\r\n\r\n" + b" " * 33_554_500,
    ],
)
def test_a_list_that_makes_no_sense_is_an_error_of_the_source(api, raw):
    api.odd = {"flinkdeployments?limit": raw}
    found = read(api)
    assert found.error and not found.clusters


ODD_OBJECTS = [
    {},
    {"metadata": None},
    {"metadata": {"name": "A B", "namespace": "shop"}},
    {"metadata": {"name": "x", "namespace": "../etc"}},
    {
        "metadata": {"name": "x", "namespace": "s", "uid": ["u"]},
        "status": 7,
        "spec": {"flinkConfiguration": {"rest.port": "99999999"}},
    },
    {
        "metadata": {"name": "y", "namespace": "s", "labels": {"a": 1, "team": "t\x00"}},
        "status": {"jobStatus": {"jobId": "../x", "startTime": "9" * 99}},
    },
    {
        "metadata": {"name": "z", "namespace": "s"},
        "status": {
            "error": "{" * 5_000,
            "reconciliationStatus": {"reconciliationTimestamp": 1e300},
        },
    },
]


def test_objects_of_odd_shapes_stop_nothing_beside_them(api):
    items = [*ODD_OBJECTS, "x", objects.deployment("orders")]
    api.odd = {"flinkdeployments?limit": ok({"items": items, "metadata": {"resourceVersion": "1"}})}
    found = read(api)
    assert not found.error and set(urls(found)) == {"shop.orders", "s.x", "s.y", "s.z"}
    assert urls(found)["s.x"] == "http://x-rest.s:8081"


def test_more_objects_than_are_kept_are_an_error(api, monkeypatch):
    monkeypatch.setattr(reading, "MAX_OBJECTS", 5)
    for number in range(6):
        api.put("flinkdeployments", objects.deployment(f"d{number}"))
    assert "narrow it" in read(api).error


@pytest.mark.parametrize(
    ("own", "why"),
    [
        ("{kubeconfig: config}", "absolute path"),
        ("{context: a}", "one of a 'kubeconfig'"),
        ("{namespaces: [A_B]}", "names of namespaces"),
        ("{read: [pods]}", "deployments, services, leaders"),
        ("{leader: 'yes'}", "true or false"),
        ("{address: '{pod}:80'}", "may hold {service}"),
        ("{token: x}", "is not known"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused_with_the_place(own, why):
    with pytest.raises(ValueError, match="source a: kubernetes") as refused:
        parse_sources({"sources": [{"name": "a", "kubernetes": yaml.safe_load(own)}]})
    assert why in str(refused.value)
