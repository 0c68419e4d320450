"""WebHDFS where a NameNode or DataNode answers something else than it should: said, bounded,
nothing taken for done.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import pytest

from ingest.flink_logs import files as log_files
from ingest.metadata.files import MetadataFile
from ingest.network import webhdfs
from ingest.network.clusters import RefusedAddress
from ingest.storage import tree
from ingest.storage.inventory import import_inventory
from ingest.storage.listing import list_root
from ingest.storage.roots import Root
from tests.ingest.storage.test_listing import paths, rows
from tests.webhdfs_server import TOKEN, WebHdfsServer, exception, serving, status_of

BEGUN = datetime(2026, 10, 5, 4, tzinfo=UTC)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebHdfsServer]:
    (tmp_path / "hdfs" / "flink").mkdir(parents=True)
    with serving(tmp_path / "hdfs", page=3) as running:
        yield running


def put(server: WebHdfsServer, name: str, content: bytes = b"state") -> str:
    path = server.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return f"{server.uri}/{name}"


def unlisted(server: WebHdfsServer, out: Path) -> str:
    (skip,) = list_root(Root.of(f"{server.uri}/flink"), str(out)).unlisted
    return skip.detail


def test_a_large_directory_is_asked_page_by_page(server: WebHdfsServer, tmp_path: Path) -> None:
    for number in range(8):
        put(server, f"flink/ä {number}%20#?&+")
    listed = list_root(Root.of(f"{server.uri}/flink"), str(tmp_path / "out"))
    assert len(paths(listed)) == 8
    assert {row["replication"] for row in rows(listed)} == {3}
    assert [asked.split()[2] for asked in server.asked] == ["LISTSTATUS_BATCH"] * 3


def test_a_namenode_that_knows_no_pages_is_listed_at_once(
    server: WebHdfsServer, tmp_path: Path
) -> None:
    server.knows_pages = False
    put(server, "flink/a")
    put(server, "flink/b/c")
    assert [
        path.rpartition("flink/")[2]
        for path in paths(list_root(Root.of(f"{server.uri}/flink"), str(tmp_path / "out")))
    ] == [
        "a",
        "b/c",
    ]


def test_a_link_is_a_second_name_and_reported(server: WebHdfsServer, tmp_path: Path) -> None:
    put(server, "flink/a")
    (server.folder / "flink" / "b").symlink_to(server.folder / "flink" / "a")
    listed = list_root(Root.of(f"{server.uri}/flink"), str(tmp_path / "out"))
    assert (listed.files, [skip.reason for skip in listed.unlisted]) == (1, ["link"])


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (
            403,
            exception(
                "StandbyException", "Operation category READ is not supported in state standby"
            ),
            "standby",
        ),
        (
            403,
            exception("AccessControlException", "Permission denied: user=weir"),
            "Permission denied",
        ),
        (401, b"<html>Authentication required</html>", "401"),
        (503, b"", "503"),
        (200, b"<html>a proxy</html>", "not JSON"),
        (200, b"[" * 100_000, "not JSON"),
        (200, b'{"DirectoryListing": {"remainingEntries": 0}}', "has no"),
        (
            200,
            (
                b'{"DirectoryListing": {"partialListing": {"FileStatuses": {"FileStatus": []}}, '
                b'"remainingEntries": 5}}'
            ),
            "never end",
        ),
        (200, b'{"FileStatuses": "\xff"}', "has no"),
    ],
)
def test_what_cannot_be_listed_is_said(
    status: int, body: bytes, told: str, server: WebHdfsServer, tmp_path: Path
) -> None:
    server.answers["LISTSTATUS_BATCH"] = status, body
    assert told in unlisted(server, tmp_path / "out")


@pytest.mark.parametrize(
    "change",
    [
        {"pathSuffix": "../../etc"},
        {"pathSuffix": ".."},
        {"length": -1},
        {"modificationTime": "now"},
        {"type": 7},
    ],
)
def test_an_entry_that_is_none_makes_its_directory_unlisted(
    change: dict[str, object], server: WebHdfsServer, tmp_path: Path
) -> None:
    status = status_of(tmp_path, "a") | change
    listing = {"partialListing": {"FileStatuses": {"FileStatus": [status]}}, "remainingEntries": 0}
    server.answers["LISTSTATUS_BATCH"] = 200, json.dumps({"DirectoryListing": listing}).encode()
    assert unlisted(server, tmp_path / "out")


def test_directories_without_end_come_to_one(
    server: WebHdfsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhdfs, "MAX_DEPTH", 10)
    listing = {
        "partialListing": {"FileStatuses": {"FileStatus": [status_of(tmp_path, "a")]}},
        "remainingEntries": 0,
    }
    server.answers["LISTSTATUS_BATCH"] = 200, json.dumps({"DirectoryListing": listing}).encode()
    assert "deeper than HDFS allows" in unlisted(server, tmp_path / "out")


def test_pages_that_go_round_come_to_an_end(server: WebHdfsServer, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    listing = {
        "partialListing": {"FileStatuses": {"FileStatus": [status_of(tmp_path / "a", "a")]}},
        "remainingEntries": 1,
    }
    server.answers["LISTSTATUS_BATCH"] = 200, json.dumps({"DirectoryListing": listing}).encode()
    assert "never end" in unlisted(server, tmp_path / "out")


def test_an_answer_without_end_is_cut(
    server: WebHdfsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhdfs, "MAX_ANSWER_BYTES", 1000)
    server.answers["LISTSTATUS_BATCH"] = 200, b" " * 2000
    assert "more than 1,000 bytes" in unlisted(server, tmp_path / "out")


def test_a_rename_that_the_namenode_did_not_do_is_no_move(server: WebHdfsServer) -> None:
    path = put(server, "flink/a")
    server.answers["RENAME"] = 200, b'{"boolean": false}'
    with pytest.raises(tree.TreeError, match="did not rename"):
        tree.move(path, f"{server.uri}/quarantine/a")
    assert (server.folder / "flink" / "a").exists()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"<html>Jetty</html>"),
        (200, b"sta"),
        (404, exception("FileNotFoundException", "block")),
    ],
)
def test_an_error_of_a_datanode_is_not_the_content_of_a_file(
    status: int, body: bytes, server: WebHdfsServer
) -> None:
    path = put(server, "flink/a")
    server.answers["DATANODE OPEN"] = status, body
    with MetadataFile(path).open() as stream, pytest.raises(OSError):
        stream.read()


def test_a_datanode_at_an_address_that_is_never_asked_is_refused(server: WebHdfsServer) -> None:
    path = put(server, "flink/a")
    server.datanode = "http://169.254.169.254/latest"
    with MetadataFile(path).open() as stream, pytest.raises(RefusedAddress):
        stream.read()


def test_a_token_is_in_no_message(server: WebHdfsServer) -> None:
    filesystem = fsspec.filesystem(
        "webhdfs", host="127.0.0.1", port=server.server_port, token=TOKEN, skip_instance_cache=True
    )
    server.answers["GETFILESTATUS"] = 500, b""
    with pytest.raises(OSError, match="500") as refused:
        filesystem.info("/flink")
    server.server_close()
    away = fsspec.filesystem(
        "webhdfs", host="127.0.0.1", port=1, token=TOKEN, skip_instance_cache=True
    )
    with pytest.raises(OSError, match="ConnectionError") as unreached:
        away.info("/flink")
    assert (
        TOKEN
        not in f"{refused.value!r}{refused.value.__cause__!r}{unreached.value!r}{unreached.value.__cause__!r}"
    )


def test_logs_there_are_found_and_read_again_by_their_own_address(server: WebHdfsServer) -> None:
    path = put(
        server,
        "logs/jobmanager.log",
        b"2026-11-24 10:00:00,000 INFO  org.apache.flink.Any [] - said\n",
    )
    found, skips = log_files.find([f"{server.uri}/logs/*.log*"])
    assert ([file.path for file in found], skips) == ([path], [])
    with log_files.open_unpacked(path) as stream:
        assert stream.read().endswith(b"said\n")


@pytest.mark.parametrize("given", ["inventory", "inventory/*.csv", "inventory/a.csv"])
def test_files_of_an_inventory_are_read_from_the_namenode_that_has_them(
    server: WebHdfsServer, tmp_path: Path, given: str
) -> None:
    put(server, "inventory/a.csv", b"path,size\n/flink/a,1\n")
    root = Root.of("hdfs://nn/flink")
    listed = import_inventory(f"{server.uri}/{given}", root, str(tmp_path / "out"), BEGUN)
    assert paths(listed) == ["hdfs://nn/flink/a"]


def test_an_empty_directory_goes_and_a_full_one_stays(server: WebHdfsServer) -> None:
    put(server, "flink/full/a")
    (server.folder / "flink" / "empty").mkdir()
    for name in ("full", "empty"):
        tree.remove_empty(f"{server.uri}/flink/{name}")
    assert [child.name for child in (server.folder / "flink").iterdir()] == ["full"]


def test_tls_has_a_scheme_and_ports_of_their_own() -> None:
    opened = [
        fsspec.core.url_to_fs(uri)[0]
        for uri in ("webhdfs://nn/a", "swebhdfs://nn/a", "swebhdfs://nn:50470/a")
    ]
    assert [filesystem.url for filesystem in opened] == [
        f"{at}/webhdfs/v1" for at in ("http://nn:9870", "https://nn:9871", "https://nn:50470")
    ]
