"""Sources as they are declared and read: files by globs, an address over HTTP."""

import asyncio
import json
import os
import re

import pytest

from ingest.discovery.declared import read_declared
from ingest.discovery.documents import MAX_BYTES
from ingest.discovery.reading import _read_all, read_sources
from ingest.discovery.sources import DiscoverySource
from ingest.errors import Refused
from tests.ingest.flink_rest.serving import Reply, Server, told

GROUP = [{"targets": ["jm:8081"], "labels": {"cluster": "orders"}}]


def names(listing):
    return [one.name for one in listing.clusters]


def of_files(tmp_path, *patterns):
    return read_sources(
        [DiscoverySource("s", files=tuple(str(tmp_path / pattern) for pattern in patterns))]
    )[0]


def test_files_of_a_glob_are_read_as_json_or_yaml_by_their_ending(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(GROUP))
    (tmp_path / "b.yml").write_text("- targets: [b:1]\n  labels: {cluster: b}\n")
    (tmp_path / "c.yaml").write_text("[]")
    found = of_files(tmp_path, "*.json", "*.y*ml")
    assert names(found) == ["orders", "b"] and not found.error


def test_a_file_that_cannot_be_read_is_named_and_the_others_are(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(GROUP))
    (tmp_path / "b.json").write_text('[{"targets": ["b')
    os.mkfifo(tmp_path / "c.json")
    (tmp_path / "d.json").write_bytes(b"[" + b" " * MAX_BYTES + b"]")
    found = of_files(tmp_path, "*.json", "none*.json")
    assert names(found) == ["orders"]
    assert str(tmp_path / "b.json") in found.error and "not a complete JSON" in found.error


def by_http(answer, path="/sd"):
    async def read():
        async with Server(answer) as server:
            (found,) = await _read_all([DiscoverySource("s", url=server.url + path)])
            return found, server

    return asyncio.run(read())


def test_an_address_is_asked_as_it_is_declared():
    found, server = by_http(lambda path, headers: told(GROUP), "/sd?team=a%20b")
    assert names(found) == ["orders"] and server.asked == ["/sd?team=a%20b"]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (told([], 404), "404"),
        (Reply(b"<html>"), "HTML instead of JSON"),
        (Reply(b"[" * 100_000), "an incomplete JSON"),
        (Reply(b"[" + b" " * (MAX_BYTES + 1) + b"]"), "more than 8 MiB"),
        (
            Reply(b"", 302, {"location": "http://169.254.169.254/latest/meta-data"}),
            "redirected to 169.254.169.254",
        ),
        (told({"targets": []}), "list of target groups"),
        (
            told([{"targets": [f"h{number}:1" for number in range(10_001)]}]),
            "more than 10,000 targets",
        ),
    ],
)
def test_an_answer_that_is_none_is_an_error_of_the_source(reply, why):
    found, _server = by_http(lambda path, headers: reply)
    assert (
        not found.clusters
        and why in found.error
        and re.match(r"http://127\.0\.0\.1:\d+/sd could not be read: ", found.error)
    )


def test_an_address_that_weir_never_asks_is_not_asked():
    (found,) = read_sources([DiscoverySource("s", url="http://169.254.169.254/latest")])
    assert "never asks" in found.error


def write(tmp_path, text):
    path = tmp_path / "sources.yml"
    path.write_text(text)
    return path


def test_a_file_of_sources_says_all_that_a_source_can_be_told(tmp_path):
    (tmp_path / "token").write_text("abc\n")
    files, own = read_declared(
        write(
            tmp_path,
            f"""
sources:
  - name: production
    file_sd: {{files: [/etc/weir/*.yml]}}
    refresh_s: 60
    cluster: "{{team}}-{{app}}"
    scheme: https
    labels: {{environment: production, team: "{{__meta_team}}"}}
    hosts: ["*.example.org"]
    authorization: {{credentials_file: {tmp_path}/token}}
    tls_config: {{ca_file: /ca.pem}}
    logs: {{globs: ["/logs/{{cluster}}/*.log*"], time_zone: Europe/Berlin}}
  - name: inventory
    http_sd:
      url: http://127.0.0.1:1/sd
      basic_auth: {{username: weir, password_file: {tmp_path}/token}}
""",
        )
    )
    assert (files.kind, files.refresh_s, files.scheme, files.auth.secret, files.tls.ca_file) == (
        "file",
        60,
        "https",
        "abc",
        "/ca.pem",
    )
    assert (
        files.logs.globs == ("/logs/{cluster}/*.log*",) and files.labels["team"] == "{__meta_team}"
    )
    assert (own.kind, own.own_auth.user, own.auth, own.refresh_s) == ("http", "weir", None, 15)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("{name: a}", "one of file_sd, http_sd, zookeeper, yarn"),
        ("{name: a, file_sd: {files: [x.yml]}}", "absolute paths"),
        ("{name: a, file_sd: {files: [/x.txt]}}", "end in .json"),
        ("{name: a b, http_sd: {url: 'http://x'}}", "'name' must be"),
        ("{name: a, http_sd: {url: 'file:///etc/passwd'}}", "needs a 'url'"),
        ("{name: a, http_sd: {url: 'http://u:p@x/'}}", "without user and password"),
        ("{name: a, http_sd: {url: 'http://169.254.169.254/'}}", "never asks"),
        ("{name: a, http_sd: {url: 'http://x'}, filess: 1}", "'filess' is not known"),
        ("{name: a, http_sd: {url: 'http://x'}, refresh_s: 1}", "from 5 to 3600"),
        (
            "{name: a, http_sd: {url: 'http://x'}, authorization: {credentials_file: /none}}",
            "credentials_file",
        ),
        ("{name: a, http_sd: {url: 'http://x'}, labels: {n: 1}}", "quotes"),
        (
            "{name: a, http_sd: {url: 'http://x'}, logs: {globs: [/x], layout: '%d %t%t~%m'}}",
            "there is no text between",
        ),
        (
            "{name: a, http_sd: {url: 'http://x'}, logs: {globs: [/x], layout: '%d{ISO8601}{Mars} "
            "%m'}}",
            "no time zone",
        ),
        (
            "{name: a, http_sd: {url: 'http://x'}}, {name: a, http_sd: {url: 'http://y'}}",
            "two sources",
        ),
        ("1", "names with values"),
    ],
)
def test_a_file_of_sources_that_makes_no_sense_is_refused_with_the_place(tmp_path, entry, why):
    path = write(tmp_path, f"sources: [{entry}]")
    with pytest.raises(Refused) as refused:
        read_declared(path)
    assert str(path) in str(refused.value) and why in str(refused.value)


def test_credentials_need_the_hosts_that_they_may_be_sent_to(tmp_path):
    (tmp_path / "token").write_text("canary-token")
    path = write(
        tmp_path,
        (
            f"sources: [{{name: a, http_sd: {{url: 'http://x'}}, authorization: "
            f"{{credentials_file: "
            f"{tmp_path}/token}}}}]"
        ),
    )
    with pytest.raises(Refused, match="'hosts'") as refused:
        read_declared(path)
    assert "canary" not in str(refused.value)
