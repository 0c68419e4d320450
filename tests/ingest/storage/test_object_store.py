"""Listing, moving and deleting in an S3-compatible store."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import s3fs
from fsspec.config import conf
from moto.server import ThreadedMotoServer

from ingest.storage import directories, tree
from ingest.storage.listing import list_root
from ingest.storage.roots import Root
from tests.ingest.storage.test_listing import paths, rows

JOB = "0e0a9226e66450b804703de8c16027eb"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def store(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    options = {"key": "testing", "secret": "testing", "client_kwargs": {"endpoint_url": endpoint}}
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setitem(conf, "s3", options)
    monkeypatch.setitem(conf, "s3a", options)
    s3 = s3fs.S3FileSystem()
    s3.call_s3("create_bucket", Bucket="state")
    yield s3
    s3.rm("state", recursive=True)


def test_keys_become_paths_page_by_page(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directories, "KEYS_A_PAGE", 2)
    keys = [f"ckpt/{JOB}/shared/{number:04d}" for number in range(5)] + [
        f"ckpt/{JOB}/chk-1/_metadata",
        f"ckpt/{JOB}//double",
        "other/a",
    ]
    for key in keys:
        store.call_s3("put_object", Bucket="state", Key=key, Body=b"123")
    store.call_s3("put_object", Bucket="state", Key=f"ckpt/{JOB}/", Body=b"")
    listed = list_root(Root.of("s3a://state/ckpt/"), str(tmp_path / "out"))
    assert paths(listed) == sorted(
        [
            f"s3://state/{key}".replace("//double", "/double")
            for key in keys
            if key.startswith("ckpt/")
        ]
    )
    assert (listed.files, listed.bytes, listed.unlisted) == (7, 21, ())
    (double,) = [row for row in rows(listed) if row["path"].endswith("double")]
    assert double["modified"] is not None
    assert tree.stat(double["listed_path"]) == tree.Stat(3, double["modified"])


def test_a_bucket_is_a_root_too(store: Any, tmp_path: Path) -> None:
    store.pipe("state/a", b"1")
    store.pipe("state/deep/b", b"1")
    assert paths(list_root(Root.of("s3://state"), str(tmp_path / "out"))) == [
        "s3://state/a",
        "s3://state/deep/b",
    ]


@pytest.mark.parametrize("root", ["s3://state/cpkt", "s3://no-such-bucket/ckpt"])
def test_a_root_that_is_not_there_is_reported(root: str, store: Any, tmp_path: Path) -> None:
    listed = list_root(Root.of(root), str(tmp_path / "out"))
    assert [(skip.subject, skip.reason) for skip in listed.unlisted] == [
        (root, "unlistable_directory")
    ]


def test_a_move_is_a_copy_and_then_a_deletion_and_comes_back(store: Any) -> None:
    store.pipe("state/ckpt/a", b"state")
    tree.move("s3://state/ckpt/a", "s3://state/quarantine/1/ckpt/a", tree.stat("s3://state/ckpt/a"))
    assert not tree.exists("s3://state/ckpt/a")
    tree.move("s3://state/quarantine/1/ckpt/a", "s3://state/ckpt/a")
    store.invalidate_cache()
    assert store.cat("state/ckpt/a") == b"state"
    assert not tree.exists("s3://state/quarantine/1/ckpt/a")


def test_nothing_is_overwritten_and_what_changed_is_left_alone(store: Any) -> None:
    store.pipe("state/ckpt/a", b"state")
    store.pipe("state/quarantine/a", b"other")
    before = tree.stat("s3://state/ckpt/a")
    with pytest.raises(tree.Occupied):
        tree.move("s3://state/ckpt/a", "s3://state/quarantine/a")
    store.pipe("state/ckpt/a", b"longer state")
    with pytest.raises(tree.Changed):
        tree.delete("s3://state/ckpt/a", before)
    with pytest.raises(tree.Gone):
        tree.delete("s3://state/ckpt/b")
    tree.delete("s3a://state/ckpt/a")
    assert not tree.exists("s3://state/ckpt/a")


def test_between_the_store_and_a_disk(store: Any, tmp_path: Path) -> None:
    store.pipe("state/ckpt/a", b"state")
    tree.move("s3://state/ckpt/a", str(tmp_path / "a"))
    assert ((tmp_path / "a").read_bytes(), tree.exists("s3://state/ckpt/a")) == (b"state", False)
    tree.move(str(tmp_path / "a"), "s3://state/ckpt/a")
    assert (tree.stat("s3://state/ckpt/a").bytes, (tmp_path / "a").exists()) == (5, False)
