"""Many files of a bucket or of HDFS: by few requests or side by side, at the pace, each with an
outcome of its own.
"""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ingest.storage import buckets, tree
from ingest.storage.buckets import Bucket
from ingest.storage.tree import Stat
from tests.ingest.storage.test_object_store import endpoint, store
from tests.webapp.cleanup.remote import RemotePlan
from tests.webapp.cleanup.worlds import name_of_job
from tests.webhdfs_server import WebHdfsServer, serving
from webapp.cleanup.dry_run import dry_run
from webapp.cleanup.errors import Halted
from webapp.cleanup.places import TreeFiles
from webapp.cleanup.rate_limit import RateLimit
from webapp.cleanup.run import AT_ONCE

__all__ = ["endpoint", "store"]

PROJECT = Path(__file__).resolve().parents[3]
SHARED = f"{name_of_job(1)}/shared"
NAMES = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(7)]
QUARANTINE = "s3://state/quarantine"


class Time:
    """A clock that only goes on while somebody waits."""

    now = 0.0

    def sleep(self, span_s: float) -> None:
        self.now += span_s


def planned(store: Any, folder: Path, way: str, name: str = "state") -> RemotePlan:
    keys, root = [f"flink/{SHARED}/{name}" for name in NAMES], f"s3://{name}/flink"
    for key in keys:
        store.pipe(f"{name}/{key}", b"state")
    bucket = Bucket.of(root)
    assert bucket is not None
    stats = {key.removeprefix("flink/"): stat for key, stat in bucket.stats(keys).items()}
    return RemotePlan(folder, root, stats, QUARANTINE if way == "copy" else "", way)


@pytest.mark.parametrize("way", ["copy", "tag"])
def test_what_the_store_refuses_of_a_request_waits_for_the_next_purge(
    store: Any, tmp_path: Path, way: str
) -> None:
    plan = planned(store, tmp_path, way)
    assert set(plan.apply().values()) == {"quarantined"}
    file = plan.run().planned(next(plan.reader.chunks()))[3]
    held = (file.target if way == "copy" else file.source).removeprefix("s3://")
    statement = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:DeleteObject",
        "Resource": f"arn:aws:s3:::{held}",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    store.call_s3("put_bucket_policy", Bucket="state", Policy=policy)
    with pytest.raises(Halted, match="AccessDenied"):
        plan.purge()
    store.call_s3("delete_bucket_policy", Bucket="state")
    assert store.exists(held) and len(store.find("state")) == 1
    assert plan.purge() == dict.fromkeys(NAMES, "purged")
    assert not store.find("state")


@pytest.mark.parametrize("step", ["copy", "delete"])
def test_what_the_store_refuses_once_is_put_back_by_the_next_undo(
    store: Any, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, done, left = planned(store, tmp_path, "copy"), getattr(tree, step), [1]
    plan.apply()

    def refusing(*arguments: Any) -> None:
        if left:
            left.pop()
            raise tree.TreeError("503 Slow Down")
        done(*arguments)

    monkeypatch.setattr(tree, step, refusing)
    with pytest.raises(Halted, match="503 Slow Down"):
        plan.undo()
    assert plan.undo() == dict.fromkeys(NAMES, "restored")
    assert sorted(path.rpartition("/")[2] for path in store.find("state")) == NAMES


@pytest.mark.parametrize("way", ["copy", "tag"])
def test_a_request_holds_no_more_files_than_the_rate_allows_in_a_second(
    store: Any, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, clock, sizes = planned(store, tmp_path, way), Time(), []
    plan.apply()
    deleted = Bucket.delete

    def counted(self: Bucket, objects: Any) -> Any:
        sizes.append(len(objects))
        return deleted(self, objects)

    monkeypatch.setattr(buckets.Bucket, "delete", counted)
    plan.pace = RateLimit(2, lambda: clock.now, clock.sleep)
    assert set(plan.purge().values()) == {"purged"}
    assert (sizes, clock.now) == ([2, 2, 2, 1], 3)


@pytest.mark.parametrize("way", ["copy", "tag"])
def test_a_purge_that_dies_between_two_requests_goes_on_where_it_stopped(
    store: Any, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, left = planned(store, tmp_path, way), [2]
    plan.apply()
    deleted = Bucket.delete

    def dying(self: Bucket, objects: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return deleted(self, objects)

    plan.pace = RateLimit(2, sleep=lambda span_s: None)
    with monkeypatch.context() as dies:
        dies.setattr(buckets.Bucket, "delete", dying)
        with pytest.raises(KeyboardInterrupt):
            plan.purge()
    assert len(store.find("state")) == len(NAMES) - 4
    assert plan.purge() == dict.fromkeys(NAMES, "purged")
    assert not store.find("state")


PURGED_SLOWLY = """
import json, sys
from fsspec.config import conf
import django
django.setup()
from tests.webapp.cleanup.remote import RemotePlan
from webapp.cleanup.rate_limit import RateLimit
folder, options = sys.argv[1], json.loads(sys.argv[2])
conf["s3"] = options
plan = RemotePlan.again(folder)
plan.pace = RateLimit(2)
plan.purge()
"""


@pytest.mark.parametrize("way", ["copy", "tag"])
def test_a_purge_killed_with_9_goes_on_where_it_stopped(
    store: Any, endpoint: str, tmp_path: Path, way: str
) -> None:
    plan = planned(store, tmp_path, way)
    plan.apply()
    options = {"key": "testing", "secret": "testing", "client_kwargs": {"endpoint_url": endpoint}}
    command = [sys.executable, "-c", PURGED_SLOWLY, str(tmp_path), json.dumps(options)]
    with subprocess.Popen(command, cwd=PROJECT) as process:
        while len(store.find("state")) == len(NAMES):
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    assert 0 < len(store.find("state")) < len(NAMES)
    assert plan.purge() == dict.fromkeys(NAMES, "purged")
    assert not store.find("state")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("verb", ["undo", "purge"])
def test_whatever_others_write_between_any_two_requests_stays_readable(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, verb: str
) -> None:
    """In a bucket that keeps versions; what others delete may come back."""
    name, chance = f"kept-{verb}-{seed}", Random(seed)
    store.call_s3("create_bucket", Bucket=name)
    store.call_s3(
        "put_bucket_versioning", Bucket=name, VersioningConfiguration={"Status": "Enabled"}
    )
    plan = planned(store, tmp_path, "delete_marker", name)
    keys = [f"flink/{SHARED}/{name}" for name in NAMES]
    written: dict[str, bytes | None] = {}
    called = Bucket._call

    lock = threading.Lock()

    def disturbed(self: Bucket, operation: str, **query: Any) -> Any:
        with lock:
            disturb()
        return called(self, operation, **query)

    def disturb() -> None:
        if chance.random() < 0.5:
            key = chance.choice(keys[:4])
            written[key] = f"{chance.random()}".encode() if chance.random() < 0.7 else None
            if (content := written[key]) is None:
                store.call_s3("delete_object", Bucket=name, Key=key)
            else:
                store.call_s3("put_object", Bucket=name, Key=key, Body=content)

    monkeypatch.setattr(Bucket, "_call", disturbed)
    applied = plan.apply()
    told = plan.undo() if verb == "undo" else plan.purge()
    monkeypatch.setattr(Bucket, "_call", called)
    assert written
    for key, content in written.items():
        if content is not None:
            assert store.cat(f"{name}/{key}") == content
    for key, of in zip(keys[4:], NAMES[4:], strict=True):
        assert (applied[of], told[of]) == (
            "quarantined",
            "restored" if verb == "undo" else "purged",
        )
        assert store.exists(f"{name}/{key}") == (verb == "undo")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebHdfsServer]:
    (tmp_path / "hdfs" / "flink").mkdir(parents=True)
    with serving(tmp_path / "hdfs") as running:
        yield running


class Counting(TreeFiles):
    """How many files are moved at the same time: nobody goes on before a second one comes."""

    def __init__(self) -> None:
        super().__init__()
        self.two, self.now, self.most = threading.Barrier(2), 0, 0
        self.lock = threading.Lock()

    def move(self, source: str, target: str, expected: Stat) -> None:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.two.wait(30)
        super().move(source, target, expected)
        with self.lock:
            self.now -= 1


def test_files_of_hdfs_are_moved_side_by_side_and_never_too_many(
    server: WebHdfsServer, tmp_path: Path
) -> None:
    root, stats = f"{server.uri}/flink", {}
    for number in range(2 * AT_ONCE + 2):
        file = server.folder / "flink" / SHARED / f"{number:08x}-0000-4000-8000-000000000000"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"state")
        stats[f"{SHARED}/{file.name}"] = tree.stat(f"{root}/{SHARED}/{file.name}")
    plan = RemotePlan(tmp_path, root, stats, f"{server.uri}/quarantine", "rename")
    plan.files = counting = Counting()
    assert set(plan.apply().values()) == {"quarantined"}
    assert 2 <= counting.most <= AT_ONCE
    plan.files = TreeFiles()
    assert set(plan.purge().values()) == {"purged"}
    assert not [path for path in server.folder.rglob("*") if path.is_file()]


def test_a_dry_run_looks_at_many_files_at_once(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(store, tmp_path, "tag")
    store.pipe(f"state/flink/{SHARED}/{NAMES[0]}", b"written anew")
    store.rm(f"state/flink/{SHARED}/{NAMES[1]}")
    asked, called = [], Bucket._call

    def counted(self: Bucket, operation: str, **query: Any) -> Any:
        asked.append(operation)
        return called(self, operation, **query)

    monkeypatch.setattr(Bucket, "_call", counted)
    told = dry_run(plan.reader)
    assert (told["unchanged"], told["changed"], told["gone"]) == (len(NAMES) - 2, 1, 1)
    assert asked == ["list_objects_v2"]
