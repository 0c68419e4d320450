"""Copies from and to an S3-compatible store, where nothing can be renamed and directories are only
prefixes.
"""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import Refused
from ingest.metadata.files import MetadataFile
from ingest.metadata.handles import handles
from ingest.storage import copying
from spark_jobs.replication.replica import Replica
from spark_jobs.replication.request import UP_TO_DATE
from spark_jobs.replication.round import replicate
from tests.ingest.storage.test_object_store import endpoint, store
from tests.spark_jobs.replication.worlds import World, copies, state_of

__all__ = ["endpoint", "store"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, random.Random(9))
    for _ in range(4):
        world.checkpoint()
    return world


def restored(store: Any, location: str) -> list[bytes]:
    """Each stream of a copy in the store, as a restore from there reads it."""
    file = MetadataFile(f"{location}/_metadata", read_at=f"{location}/_metadata")
    streams = [
        handle.stream for handle in handles(file.pieces()) if handle.stream and handle.stream.path
    ]
    assert all(stream.path.startswith("s3a://state/copies/one/") for stream in streams)
    return [store.cat_file(stream.path)[stream.offset or 0 :][: stream.bytes] for stream in streams]


def test_a_copy_in_a_store_holds_what_the_original_does_and_is_kept_up_to_date(
    store: Any, world: World
) -> None:
    request = replace(world.request, destination="s3a://state/copies/one")
    first = replicate(request)
    assert restored(store, first.location) == world.state()
    world.checkpoint()
    second = replicate(request)
    assert (
        restored(store, second.location) == world.state()
        and 0 < second.copied_files < second.files - 1
    )
    store.invalidate_cache()
    kept = [key for key in store.find("state/copies/one") if "/_weir/" not in key]
    assert len(kept) == len({*kept}) == second.files
    assert replicate(request).state == UP_TO_DATE


def test_an_origin_in_a_store_is_copied_here_and_not_touched(store: Any, world: World) -> None:
    store.put(f"{world.root}/", "state/ckpt/", recursive=True)
    before = {
        key: (info["ETag"], info["LastModified"])
        for key, info in store.find("state/ckpt", detail=True).items()
    }
    expected = world.state()
    request = replace(world.request, roots=((f"file:{world.root}", "s3://state/ckpt"),))
    world.root.rename(world.folder / "elsewhere")
    replicate(request)
    assert [content for _, content in state_of(copies(world.copy)[0])] == expected
    store.invalidate_cache()
    assert {
        key: (info["ETag"], info["LastModified"])
        for key, info in store.find("state/ckpt", detail=True).items()
    } == before
    with pytest.raises(Refused, match="is taken"):
        replicate(replace(request, destination="s3a://state/ckpt/copy"))


def test_half_an_object_of_a_killed_upload_is_written_anew(
    store: Any, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = replace(world.request, destination="s3a://state/copies/one")
    whole = copying.to_remote
    cut: list[str] = []

    def killed(here: Any, name: str, there: Any, target: str, size: int, *, renames: bool) -> str:
        if target.rpartition("/")[2] != "_metadata" and len(cut) < 3:
            cut.append(target)
            there.pipe_file(target, b"half"[:size])
            raise KeyboardInterrupt
        return whole(here, name, there, target, size, renames=renames)

    monkeypatch.setattr(copying, "to_remote", killed)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            replicate(request)
        assert not [key for key in store.find("state/copies/one") if key.endswith("/_metadata")]
        store.invalidate_cache()
    assert restored(store, replicate(request).location) == world.state() and len(cut) == 3
    assert Replica(request).records.names("rounds")
