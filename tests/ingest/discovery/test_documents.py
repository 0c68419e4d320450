"""Documents of service discovery, as Prometheus documents them and as somebody hostile writes
them.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.discovery.documents import MAX_BYTES, from_json, from_yaml
from ingest.discovery.naming import listing_of
from ingest.discovery.sources import DiscoverySource
from ingest.discovery.target_groups import MAX_TARGETS, targets_of
from ingest.errors import Skipped
from tests.selections import for_each

# https://prometheus.io/docs/prometheus/latest/http_sd/ as of version 3, shortened by the second
# network.
PROMETHEUS_HTTP_SD = """[
    {
        "targets": ["10.0.10.2:9100", "10.0.10.3:9100", "10.0.10.4:9100", "10.0.10.5:9100"],
        "labels": {
            "__meta_datacenter": "london",
            "__meta_prometheus_job": "node"
        }
    },
    {
        "targets": ["10.0.40.2:9100", "10.0.40.3:9100"],
        "labels": {
            "__meta_datacenter": "london",
            "__meta_prometheus_job": "alertmanager"
        }
    }
]"""
PROMETHEUS_FILE_SD = """
- targets:
  - '10.0.10.2:9100'
  - 'jobmanager.example.org:8081'
  labels:
    env: prod
    team: payments
- targets: ['[::1]:8081']
"""


def listing(document, **source):
    return listing_of(DiscoverySource("s", files=("/x.json",), **source), targets_of(document))


def test_the_examples_of_prometheus_are_clusters_with_their_labels() -> None:
    found = listing(
        from_json(PROMETHEUS_HTTP_SD.encode()), labels={"datacenter": "{__meta_datacenter}"}
    )
    assert [(one.name, one.url) for one in found.clusters][:2] == [
        ("10.0.10.2-9100", "http://10.0.10.2:9100"),
        ("10.0.10.3-9100", "http://10.0.10.3:9100"),
    ]
    assert len(found.clusters) == 6 and {one.labels["datacenter"] for one in found.clusters} == {
        "london"
    }
    assert all(set(one.labels) == {"datacenter"} for one in found.clusters), (
        "labels of two underscores are not kept"
    )
    by_file = listing(from_yaml(PROMETHEUS_FILE_SD.encode()))
    assert [one.url for one in by_file.clusters] == [
        "http://10.0.10.2:9100",
        "http://jobmanager.example.org:8081",
        "http://[::1]:8081",
    ]
    assert (
        by_file.clusters[1].labels == {"env": "prod", "team": "payments"}
        and not by_file.clusters[2].labels
    )


@pytest.mark.parametrize(
    ("labels", "url"),
    [
        ({}, "http://jm:8081"),
        ({"__scheme__": "https"}, "https://jm:8081"),
        ({"__metrics_path__": "/metrics"}, "http://jm:8081"),
        ({"__metrics_path__": "/proxy/application_1_2/"}, "http://jm:8081/proxy/application_1_2"),
        ({"__address__": "other:9000"}, "http://other:9000"),
    ],
)
def test_labels_of_two_underscores_say_where_to_ask(labels, url) -> None:
    (found,) = listing([{"targets": ["jm:8081"], "labels": labels}]).clusters
    assert found.url == url and not found.labels


def test_a_cluster_goes_by_its_label_or_by_what_the_source_says() -> None:
    group = {
        "targets": ["jm:8081"],
        "labels": {"cluster": "orders", "team": "a", "__meta_zone": "eu"},
    }
    assert listing([group]).clusters[0].name == "orders"
    assert (
        listing([group], cluster="{__meta_zone}-{team}-{cluster}").clusters[0].name == "eu-a-orders"
    )
    refused = listing([group], cluster="{nothing}").refused[0]
    assert "not a valid cluster name" in refused.why


@pytest.mark.parametrize(
    ("target", "labels", "why"),
    [
        ("http://jm:8081", {}, "host:port"),
        ("jm:8081/path", {}, "host:port"),
        ("jm:99999", {}, "host:port"),
        ("jm:0", {}, "host:port"),
        ("user:pass@jm:8081", {}, "host:port"),
        ("169.254.169.254:80", {}, "link-local"),
        ("[::ffff:169.254.169.254]:80", {}, "link-local"),
        ("0.0.0.0:8081", {}, "reserved"),
        ("jm:8081", {"__scheme__": "file"}, "http or https"),
        ("jm:8081", {"__metrics_path__": "/a?b=c"}, "not a plain path"),
        ("jm:8081", {"__metrics_path__": "@evil"}, "not a plain path"),
        ("jm:8081", {"__address__": "jm:8081#x"}, "host:port"),
        ("jm:8081", {"cluster": "../etc"}, "not a valid cluster name"),
        ("other.org:8081", {}, "matches none of the source's 'hosts'"),
    ],
)
def test_a_target_that_makes_no_sense_is_refused_alone(target, labels, why) -> None:
    hosts = ("jm", "jm2", "*.*.*.*", "::*", "0.0.0.0")
    found = listing(
        [
            {"targets": [target, "jm2:8081"], "labels": labels if target != "jm:8081" else {}},
            {"targets": [target], "labels": labels},
        ],
        hosts=hosts,
    )
    assert "jm2-8081" in {one.name for one in found.clusters}
    assert found.refused and why in found.refused[-1].why and found.refused[-1].what == target


def test_two_addresses_of_one_name_are_told_apart_by_the_reason_and_the_first_stays() -> None:
    same = {"targets": ["a:1", "a:1", "b:1"], "labels": {"cluster": "c"}}
    found = listing([same, same])
    assert [one.url for one in found.clusters] == ["http://a:1"]
    assert [(one.what, one.name) for one in found.refused] == [
        ("b:1", "c")
    ] and "http://a:1 already has the name c" in found.refused[0].why


def test_credentials_go_to_no_other_scheme() -> None:
    from ingest.sources import Auth

    found = listing(
        [{"targets": ["jm:1"], "labels": {"__scheme__": "http"}}],
        scheme="https",
        hosts=("jm",),
        auth=Auth("bearer", "x"),
    )
    assert not found.clusters and "credentials" in found.refused[0].why


HOSTILE = {
    "a mapping": b"{}",
    "a text": b'"x"',
    "null": b"null",
    "half": (b'[{"targets": ["a'),
    "groups of texts": b'["a"]',
    "targets of a text": b'[{"targets": "a:1"}]',
    ("targets of numbers"): b'[{"targets": [1]}]',
    "no targets": b"[{}]",
    "labels of a list": b'[{"targets": [], "labels": []}]',
    ("labels of numbers"): b'[{"targets": [], "labels": {"a": 1}}]',
    "a name of spaces": (b'[{"targets": [], "labels": {"a b": "x"}}]'),
    "a line feed": b'[{"targets": [], "labels": {"a": "x\\ny"}}]',
    "a lone surrogate": b'[{"targets": [], "labels": {"a": "\\ud800"}}]',
    "a long value": b'[{"targets": [], "labels": {"a": "' + b"x" * 501 + b'"}}]',
    "deep": b"[" * 100_000,
    "deep and whole": b"[" * 20_000 + b"]" * 20_000,
    "many values": b"[" + b"[]," * 300_000 + b"[]]",
    "many labels": json.dumps(
        [{"targets": [], "labels": {f"l{n}": "x" for n in range(65)}}]
    ).encode(),
    "many targets": json.dumps([{"targets": [f"h{n}:1" for n in range(MAX_TARGETS + 1)]}]).encode(),
    "a million targets": json.dumps([{"targets": [f"h{n}:1" for n in range(1_000_000)]}]).encode(),
    "no UTF-8": b'[{"targets": ["\xff"]}]',
}


@for_each(kind=HOSTILE, read=[from_json, from_yaml])
def test_a_document_that_is_none_is_refused_whole_with_a_reason(kind, read) -> None:
    if kind == "a million targets":
        assert len(HOSTILE[kind]) > MAX_BYTES, "it is refused by its size, before it is read"
        return
    with pytest.raises(Skipped) as refused:
        targets_of(read(HOSTILE[kind]))
    assert 10 < len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x]\nb: *a",
        "- !!python/object/apply:os.system ['true']",
        "- [" * 40,
        "- \t- x: [",
        "- 2001-99-99",
        "? [a]\n: b",
        "- !!binary 'é'",
    ],
)
def test_yaml_that_does_more_than_list_is_refused(text) -> None:
    with pytest.raises(Skipped):
        targets_of(from_yaml(text.encode()))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["targets", "labels", "x"]), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_whatever_a_document_holds_it_is_taken_or_refused(document) -> None:
    try:
        targets = targets_of(document)
    except Skipped:
        return
    found = listing_of(DiscoverySource("s", url="http://x"), targets)
    assert len(found.clusters) + len(found.refused) == len(targets)
