"""Many keys of a bucket at once, against what the store says of each key alone."""

from random import Random
from typing import Any

import pytest

from ingest.storage import buckets
from ingest.storage.buckets import Bucket
from tests.ingest.storage.test_object_store import endpoint, store

__all__ = ["endpoint", "store"]


def bucket_of(store: Any, name: str = "state") -> Bucket:
    bucket = Bucket.of(f"s3a://{name}/flink")
    assert bucket is not None and bucket.name == name
    return bucket


@pytest.mark.parametrize("wanted", [3, 40])
def test_keys_are_found_among_many_others_by_no_more_pages_than_keys(
    store: Any, monkeypatch: pytest.MonkeyPatch, wanted: int
) -> None:
    monkeypatch.setattr(buckets, "MOST_KEYS", 4)
    chance = Random(wanted)
    keys = [f"flink/{chance.getrandbits(24):06x}" for _ in range(60)]
    for key in keys:
        store.pipe(f"state/{key}", b"x" * chance.randrange(5))
    sought = [*chance.sample(keys, wanted), "flink/ffffffff", "flink/0", "flink/8"]
    asked, called = [], Bucket._call
    monkeypatch.setattr(
        Bucket,
        "_call",
        lambda self, operation, **query: (
            asked.append(operation) or called(self, operation, **query)
        ),
    )
    stats = bucket_of(store).stats(sought)
    assert set(stats) == set(sought) & set(keys)
    for key, stat in stats.items():
        info = store.info(f"state/{key}")
        assert (stat.bytes, stat.modified) == (info["size"], info["LastModified"])
    assert len(asked) <= len(sought)


def test_all_versions_of_keys_are_found_however_pages_cut_them(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "MOST_KEYS", 3)
    store.call_s3("create_bucket", Bucket="kept")
    store.call_s3(
        "put_bucket_versioning", Bucket="kept", VersioningConfiguration={"Status": "Enabled"}
    )
    chance, keys = Random(7), [f"flink/{number:03d}" for number in range(25)]
    for key in keys:
        for _ in range(chance.randrange(4)):
            if chance.random() < 0.4:
                store.call_s3("delete_object", Bucket="kept", Key=key)
            else:
                store.call_s3("put_object", Bucket="kept", Key=key, Body=b"x")
    there = store.call_s3("list_object_versions", Bucket="kept")
    wanted: dict[str, set[tuple[str, bool]]] = {}
    for row in (*there.get("Versions", ()), *there.get("DeleteMarkers", ())):
        wanted.setdefault(row["Key"], set()).add((row["VersionId"], row["IsLatest"]))
    sought = [*chance.sample(keys, 12), "flink/0", "flink/0105"]
    found = bucket_of(store, "kept").versions(sought)
    assert {
        key: {(version.id, version.is_latest) for version in versions}
        for key, versions in found.items()
    } == {key: wanted[key] for key in sought if key in wanted}


def test_a_store_without_deletion_of_many_is_asked_for_each(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [f"flink/{number}" for number in range(5)]
    for key in keys:
        store.pipe(f"state/{key}", b"x")
    called = Bucket._call

    def without(self: Bucket, operation: str, **query: Any) -> Any:
        if operation == "delete_objects":
            raise OSError("NotImplemented")
        return called(self, operation, **query)

    monkeypatch.setattr(Bucket, "_call", without)
    assert bucket_of(store).delete([(key, None) for key in keys]) == {}
    assert not store.find("state")


def test_a_store_that_deletes_nothing_is_asked_for_one_more_only(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refused(self: Bucket, operation: str, **query: Any) -> Any:
        asked.append(operation)
        raise PermissionError("Access Denied")

    monkeypatch.setattr(Bucket, "_call", refused)
    objects = [(f"flink/{number}", None) for number in range(5)]
    errors = bucket_of(store).delete(objects)
    assert set(errors) == set(objects) and asked == ["delete_objects", "delete_object"]


@pytest.mark.parametrize("times", [2, 9])
def test_a_key_that_the_store_is_too_busy_for_is_asked_again_for_a_while(
    store: Any, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    monkeypatch.setattr(buckets, "WAITS_S", (0, 0, 0))
    keys, busy, called = ["flink/1", "flink/2"], [times], Bucket._call

    def slow(self: Bucket, operation: str, **query: Any) -> Any:
        if operation != "delete_objects" or not busy[0]:
            return called(self, operation, **query)
        busy[0] -= 1
        others = [one for one in query["Delete"]["Objects"] if one["Key"] != keys[0]]
        if others:
            called(self, operation, Delete={"Objects": others})
        return {"Errors": [{"Key": keys[0], "Code": "SlowDown", "Message": "Reduce your rate"}]}

    for key in keys:
        store.pipe(f"state/{key}", b"x")
    monkeypatch.setattr(Bucket, "_call", slow)
    errors = bucket_of(store).delete([(key, None) for key in keys])
    assert list(errors) == ([] if times == 2 else [(keys[0], None)])
    assert store.find("state") == ([] if times == 2 else [f"state/{keys[0]}"])
