"""HDFS over WebHDFS, S3, Azure and Google storage: a tree is listed, read, moved in and put back,
and what changed is left alone.

WebHDFS is played by ``tests/webhdfs_server.py`` and, where Hadoop's servers are, answered by a
NameNode; S3 is moto's server; Azure is Azurite (npm) and Google fake-gcs-server where they are
installed.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from fsspec.config import conf
from moto.server import ThreadedMotoServer

from ingest.storage import tree
from ingest.storage.listing import list_root
from ingest.storage.plan_folder import AlreadyWritten, PlanFolder
from ingest.storage.roots import Root
from ingest.uris import canonical
from spark_jobs.storage.parsing import WANTED, parsed
from tests.ingest.metadata import writing as w
from tests.ingest.metadata.finding import find
from tests.ingest.storage.test_listing import paths, rows
from tests.lab.namenode import HAS_WEBHDFS, SERVER_JARS, Hdfs
from tests.webhdfs_server import serving

JOB = "0e0a9226e66450b804703de8c16027eb"
AZURITE = os.environ.get("AZURITE_BLOB") or shutil.which("azurite-blob")
FAKE_GCS = os.environ.get("FAKE_GCS_SERVER") or shutil.which("fake-gcs-server")
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, as its documentation names them."""


@dataclass
class Store:
    uri: str
    filesystem: Any

    def put(self, path: str, content: bytes) -> str:
        self.filesystem.makedirs(self.filesystem._parent(self._name(path)), exist_ok=True)
        self.filesystem.pipe_file(self._name(path), content)
        return f"{self.uri}/{path}"

    def _name(self, path: str) -> str:
        return str(fsspec.core.url_to_fs(f"{self.uri}/{path}")[1])


@pytest.fixture(scope="module", params=["webhdfs", "namenode", "s3", "azure", "gcs"])
def stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The URI of an empty directory, bucket or container; the module's servers."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "webhdfs":
        with serving(folder, page=2) as server:
            yield f"{server.uri}/flink"
        return
    if request.param == "namenode":
        if not (SERVER_JARS and HAS_WEBHDFS):
            pytest.skip("needs HADOOP_SERVER_JARS and Jersey 1 (CONTRIBUTING.md, Tests)")
        with Hdfs(folder) as hdfs, pytest.MonkeyPatch.context() as patch:
            patch.setitem(conf, "webhdfs", {"user": hdfs.user})
            yield f"{hdfs.webhdfs}/flink"
        return
    if request.param == "s3":
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            host, port = server.get_host_and_port()
            patch.setitem(
                conf,
                "s3",
                {
                    "key": "testing",
                    "secret": "testing",
                    "client_kwargs": {"endpoint_url": f"http://{host}:{port}"},
                },
            )
            fsspec.filesystem("s3").call_s3("create_bucket", Bucket="stores")
            yield "s3://stores/flink"
        server.stop()
        return
    installed = {"azure": AZURITE and find_spec("adlfs"), "gcs": FAKE_GCS and find_spec("gcsfs")}[
        request.param
    ]
    if not installed:
        pytest.skip(
            {
                "azure": "needs adlfs and npm's azurite (AZURITE_BLOB)",
                "gcs": "needs gcsfs and FAKE_GCS_SERVER",
            }[request.param]
        )
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = {
        "azure": [
            AZURITE,
            "--blobPort",
            str(port),
            "--inMemoryPersistence",
            "--silent",
            "--skipApiVersionCheck",
            "--disableTelemetry",
        ],
        "gcs": [
            FAKE_GCS,
            "-scheme",
            "http",
            "-host",
            "127.0.0.1",
            "-port",
            str(port),
            "-backend",
            "memory",
            "-public-host",
            address[7:],
        ],
    }[request.param]
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_for(port)
        with pytest.MonkeyPatch.context() as patch:
            if request.param == "azure":
                signed = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={address}/{ACCOUNT};"
                patch.setitem(conf, "abfs", {"connection_string": signed})
                fsspec.filesystem("abfs").mkdir("state")
                yield f"abfs://state@{ACCOUNT}.dfs.core.windows.net/flink"
            else:
                patch.setenv(
                    "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false"
                )  # asks by gRPC, which fake-gcs-server does not speak
                patch.setitem(
                    conf, "gs", {"endpoint_url": address, "token": "anon", "project": "weir"}
                )
                fsspec.filesystem("gs").mkdir("state")
                yield "gs://state/flink"
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not start")


@pytest.fixture
def store(stores: str, request: pytest.FixtureRequest) -> Store:
    uri = f"{stores}/{request.node.originalname}"
    return Store(uri, fsspec.core.url_to_fs(uri, use_listings_cache=False)[0])


def test_a_tree_is_listed_with_sizes_and_times(store: Store, tmp_path: Path) -> None:
    written = {f"{JOB}/shared/{number}": b"1" * number for number in range(1, 6)} | {
        f"{JOB}/chk-1/_metadata": b"12"
    }
    for path, content in written.items():
        store.put(path, content)
    listed = list_root(Root.of(store.uri), str(tmp_path / "out"))
    root = Root.of(store.uri).uri
    assert paths(listed) == sorted(f"{root}/{path}" for path in written)
    assert (listed.files, listed.bytes, listed.unlisted) == (6, 17, ())
    assert all(
        tree.stat(row["listed_path"]) == tree.Stat(row["bytes"], row["modified"])
        for row in rows(listed)
    )
    assert all(row["modified"] is not None for row in rows(listed))


def test_metadata_is_found_and_read(store: Store) -> None:
    content = w.metadata(
        4,
        [
            w.operator(
                4,
                [
                    w.subtask(
                        4, 0, keyed=w.incremental(w.byte_stream("meta", b"meta"), {}, {}, new=True)
                    )
                ],
            )
        ],
    )
    store.put(f"{JOB}/chk-1/_metadata", content)
    (found,) = find(store.uri)
    assert found.size == len(content)
    assert found.modified is not None
    with found.open() as stream:
        assert stream.read() == content
    assert list(found.pieces())


def test_an_audit_reads_the_metadata_that_its_listing_found(store: Store, tmp_path: Path) -> None:
    shared = {"000001.sst": w.file(5, f"{store.uri}/{JOB}/shared/a")}
    state = w.incremental(w.byte_stream("meta", b"meta"), shared, {}, new=True)
    store.put(f"{JOB}/shared/a", b"state")
    store.put(
        f"{JOB}/chk-1/_metadata", w.metadata(4, [w.operator(4, [w.subtask(4, 0, keyed=state)])])
    )
    found = {row["path"]: row for row in rows(list_root(Root.of(store.uri), str(tmp_path / "out")))}
    (listed,) = [row for path, row in found.items() if path.endswith("/_metadata")]
    wanted = {
        "audit_id": "a",
        "root": listed["root"],
        "path": listed["path"],
        "read_path": listed["listed_path"],
        "bytes": listed["bytes"],
    }
    read = [
        row
        for batch in parsed([pa.RecordBatch.from_pylist([wanted], schema=WANTED)])
        for row in batch.to_pylist()
    ]
    assert {row["failure"] for row in read} == {None}
    assert {canonical(row["path"]) for row in read if row["path"]} == set(found) - {listed["path"]}


def test_a_move_comes_back_and_nothing_is_overwritten(store: Store) -> None:
    here, there = store.put("ckpt/a", b"state"), f"{store.uri}/quarantine/1/a"
    before = tree.stat(here)
    tree.move(here, there, before)
    assert (tree.exists(here), tree.exists(there)) == (False, True)
    store.put("ckpt/a", b"newer state")
    with pytest.raises(tree.Occupied):
        tree.move(there, here)
    with pytest.raises(tree.Changed):
        tree.delete(here, before)
    tree.delete(here)
    tree.move(there, here)
    assert (tree.stat(here).bytes, tree.exists(there)) == (5, False)
    with pytest.raises(tree.Gone):
        tree.delete(there)


def test_files_go_between_the_store_and_a_disk(store: Store, tmp_path: Path) -> None:
    path = store.put("ckpt/a", b"state")
    tree.move(path, str(tmp_path / "a"))
    assert ((tmp_path / "a").read_bytes(), tree.exists(path)) == (b"state", False)
    tree.move(str(tmp_path / "a"), path)
    assert (tree.stat(path).bytes, (tmp_path / "a").exists()) == (5, False)


def test_a_file_of_a_plan_is_written_once(store: Store) -> None:
    folder = PlanFolder(f"{store.uri}/plan")
    folder.write("parts/1.json", b"{}")
    with pytest.raises(AlreadyWritten):
        folder.write("parts/1.json", b"[]")
    assert (folder.read("parts/1.json"), folder.names("parts")) == (b"{}", ["1.json"])


def test_a_root_that_is_not_there_is_reported(store: Store, tmp_path: Path) -> None:
    listed = list_root(Root.of(f"{store.uri}/none"), str(tmp_path / "out"))
    assert [(skip.subject, skip.reason) for skip in listed.unlisted] == [
        (Root.of(f"{store.uri}/none").uri, "unlistable_directory")
    ]
