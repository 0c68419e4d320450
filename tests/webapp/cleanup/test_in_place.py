"""Files that wait where they are in their bucket: behind delete markers, or tagged."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ingest.storage import buckets, tree
from tests.ingest.storage.test_object_store import endpoint, store
from tests.webapp.builders import person
from tests.webapp.cleanup import stored
from tests.webapp.cleanup.test_object_store import Bucket, outcomes
from webapp.cleanup.applying import Applying
from webapp.cleanup.errors import Halted, PutBack
from webapp.cleanup.in_place import TAG
from webapp.cleanup.places import TreeFiles
from webapp.cleanup.plan_reader import PlanReader, reader_of
from webapp.cleanup.purging import purge
from webapp.cleanup.recheck import FreshAudit
from webapp.cleanup.undoing import undo
from webapp.cleanup.ways import way_in_place

__all__ = ["endpoint", "store"]

GRACE = timedelta(days=3)
CHANGING = ("delete_objects", "put_object_tagging", "delete_object_tagging")


class Killed(BaseException):
    """As a signal would: nothing on the way catches it."""


@pytest.fixture(params=["delete_marker", "tag"])
def bucket(request: pytest.FixtureRequest, store: Any, tmp_path: Path) -> Iterator[Bucket]:
    if request.param == "delete_marker":
        versioning(store, "Enabled")
    yield Bucket(store, tmp_path, "s3://state/flink", "s3://state/flink", way=request.param)
    there = store.call_s3("list_object_versions", Bucket="state")
    for row in (*there.get("Versions", ()), *there.get("DeleteMarkers", ())):
        store.call_s3("delete_object", Bucket="state", Key=row["Key"], VersionId=row["VersionId"])


def versioning(store: Any, status: str) -> None:
    store.call_s3(
        "put_bucket_versioning", Bucket="state", VersioningConfiguration={"Status": status}
    )


def apply(bucket: Bucket, reader: PlanReader) -> None:
    run, watch, storage = bucket.run(reader, TreeFiles())
    Applying(run, bucket, watch, storage)()


def carry(bucket: Bucket, reader: PlanReader, verb: str) -> dict[str, str]:
    """Name of a file → outcome."""
    run, watch, storage = bucket.run(reader, TreeFiles())
    if verb == "undo":
        undo(run)
    else:
        purge(run, bucket, watch, storage)
    return outcomes(run, verb)


def applied(bucket: Bucket, reader: PlanReader) -> dict[str, str]:
    return outcomes(bucket.run(reader, TreeFiles())[0], "apply")


def key(below: str) -> str:
    return f"flink/{below}"


def versions(bucket: Bucket, below: str) -> list[tuple[str, bytes | None]]:
    """Id and content of each version of a file, ``None`` for a delete marker."""
    there = bucket.s3.call_s3("list_object_versions", Bucket="state", Prefix=key(below))
    found: list[tuple[str, bytes | None]] = [
        (row["VersionId"], None) for row in there.get("DeleteMarkers", ())
    ]
    for row in there.get("Versions", ()):
        found.append((row["VersionId"], b"" if not row["Size"] else b"x" * row["Size"]))
    return found


def is_waiting(bucket: Bucket, below: str) -> bool:
    if bucket.way == "tag":
        told = bucket.s3.call_s3("get_object_tagging", Bucket="state", Key=key(below))
        return any(tag["Key"] == TAG for tag in told["TagSet"])
    return not tree.exists(f"{bucket.read_at}/{below}") and bool(versions(bucket, below))


def write(bucket: Bucket, below: str, content: bytes = b"written anew") -> None:
    bucket.s3.call_s3("put_object", Bucket="state", Key=key(below), Body=content)


def test_an_orphan_waits_where_it_is_and_comes_back(bucket: Bucket) -> None:
    reader, before = bucket.plan(), bucket.s3.cat(f"state/flink/{bucket.orphan}")
    stat = tree.stat(f"{bucket.read_at}/{bucket.orphan}")
    apply(bucket, reader)
    needed, orphan = Path(bucket.needed).name, Path(bucket.orphan).name
    assert applied(bucket, reader) == {needed: "referred", orphan: "quarantined"}
    assert is_waiting(bucket, bucket.orphan) and tree.exists(f"{bucket.read_at}/{bucket.needed}")
    assert carry(bucket, reader, "undo") == {orphan: "restored"}
    assert not is_waiting(bucket, bucket.orphan)
    assert bucket.s3.cat(f"state/flink/{bucket.orphan}") == before
    assert tree.stat(f"{bucket.read_at}/{bucket.orphan}") == stat
    assert not bucket.s3.find("state/quarantine")


def test_a_purge_takes_every_byte_and_nothing_else(bucket: Bucket) -> None:
    reader = bucket.plan()
    apply(bucket, reader)
    assert carry(bucket, reader, "purge") == {Path(bucket.orphan).name: "purged"}
    assert versions(bucket, bucket.orphan) == []
    assert len(versions(bucket, bucket.needed)) == 1
    assert bucket.s3.cat(f"state/flink/{bucket.needed}") == b"state"


def test_the_journal_says_which_way_and_which_version(bucket: Bucket) -> None:
    (version,) = [one for one, _ in versions(bucket, bucket.orphan)]
    reader = bucket.plan()
    apply(bucket, reader)
    journal = bucket.run(reader, TreeFiles())[0].journal("apply")
    (row,) = [row for row in journal.read(0).rows if row.outcome == "quarantined"]
    assert (row.way, row.quarantine) == (bucket.way, None)
    if bucket.way == "delete_marker":
        assert row.version == version
        assert set(row.markers or ()) == {
            one for one, what in versions(bucket, bucket.orphan) if what is None
        }


def test_a_file_written_since_the_plan_is_left_alone(bucket: Bucket) -> None:
    reader = bucket.plan()
    write(bucket, bucket.orphan)
    apply(bucket, reader)
    assert applied(bucket, reader)[Path(bucket.orphan).name] in ("changed", "judged_again")
    assert bucket.s3.cat(f"state/flink/{bucket.orphan}") == b"written anew"
    assert not is_waiting(bucket, bucket.orphan)


def test_what_is_written_over_it_while_it_is_taken_is_shown_again(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it was looked at and right before the marker, or the tag, is put."""
    reader = bucket.plan()
    name = "delete" if bucket.way == "delete_marker" else "set_tags"
    acted = getattr(buckets.Bucket, name)

    def late(self: Any, *arguments: Any) -> Any:
        monkeypatch.setattr(buckets.Bucket, name, acted)
        write(bucket, bucket.orphan)
        return acted(self, *arguments)

    monkeypatch.setattr(buckets.Bucket, name, late)
    apply(bucket, reader)
    assert applied(bucket, reader)[Path(bucket.orphan).name] == "changed"
    assert bucket.s3.cat(f"state/flink/{bucket.orphan}") == b"written anew"
    assert not is_waiting(bucket, bucket.orphan)
    assert not carry(bucket, reader, "purge")
    assert bucket.s3.cat(f"state/flink/{bucket.orphan}") == b"written anew"


@pytest.mark.parametrize("verb", ["undo", "purge"])
def test_what_is_written_over_a_waiting_file_is_never_touched(bucket: Bucket, verb: str) -> None:
    reader = bucket.plan()
    apply(bucket, reader)
    write(bucket, bucket.orphan)
    told = carry(bucket, reader, verb)[Path(bucket.orphan).name]
    expected = {
        ("delete_marker", "undo"): "occupied",
        ("delete_marker", "purge"): "purged",
        ("tag", "undo"): "restored",
        ("tag", "purge"): "changed",
    }
    assert told == expected[bucket.way, verb]
    assert bucket.s3.cat(f"state/flink/{bucket.orphan}") == b"written anew"


def test_a_file_that_was_taken_waits_though_the_store_cannot_say_so_at_once(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first listing after the marker, or the tag, was put fails."""
    reader, called, requests = bucket.plan(), buckets.Bucket._call, [""]

    def failing(self: Any, operation: str, **query: Any) -> Any:
        requests.append(operation)
        if requests[-2] in CHANGING:
            raise OSError("503 Slow Down")
        return called(self, operation, **query)

    with monkeypatch.context() as once:
        once.setattr(buckets.Bucket, "_call", failing)
        apply(bucket, reader)
    assert is_waiting(bucket, bucket.orphan)
    assert applied(bucket, reader)[Path(bucket.orphan).name] == "quarantined"
    assert carry(bucket, reader, "undo") == {Path(bucket.orphan).name: "restored"}
    assert not is_waiting(bucket, bucket.orphan)


def test_what_the_store_refuses_once_is_put_back_by_the_next_undo(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, called, left = bucket.plan(), buckets.Bucket._call, [1]
    apply(bucket, reader)

    def failing(self: Any, operation: str, **query: Any) -> Any:
        if left and operation in ("list_object_versions", "get_object_tagging"):
            left.pop()
            raise OSError("503 Slow Down")
        return called(self, operation, **query)

    monkeypatch.setattr(buckets.Bucket, "_call", failing)
    with pytest.raises(Halted, match="503 Slow Down"):
        carry(bucket, reader, "undo")
    assert carry(bucket, reader, "undo") == {Path(bucket.orphan).name: "restored"}
    assert not is_waiting(bucket, bucket.orphan)


def test_what_somebody_put_back_by_hand_is_not_purged(bucket: Bucket) -> None:
    reader = bucket.plan()
    apply(bucket, reader)
    if bucket.way == "tag":
        bucket.s3.call_s3("delete_object_tagging", Bucket="state", Key=key(bucket.orphan))
    else:
        (marker,) = [one for one, what in versions(bucket, bucket.orphan) if what is None]
        bucket.s3.call_s3("delete_object", Bucket="state", Key=key(bucket.orphan), VersionId=marker)
    assert carry(bucket, reader, "purge") == {Path(bucket.orphan).name: "changed"}
    assert bucket.s3.cat(f"state/flink/{bucket.orphan}") == b"state"


def test_a_checkpoint_that_comes_to_need_a_waiting_file_gets_it_back(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "delete" if bucket.way == "delete_marker" else "set_tags"
    acted = getattr(buckets.Bucket, name)

    def then(self: Any, *arguments: Any) -> Any:
        monkeypatch.setattr(buckets.Bucket, name, acted)
        done = acted(self, *arguments)
        bucket.checkpoint(2, bucket.orphan)
        return done

    monkeypatch.setattr(buckets.Bucket, name, then)
    with pytest.raises(PutBack, match="newly miss"):
        apply(bucket, bucket.plan())
    assert tree.exists(f"{bucket.read_at}/{bucket.orphan}")
    assert not is_waiting(bucket, bucket.orphan)


def test_a_checkpoint_of_the_time_of_grace_prevents_the_purge(bucket: Bucket) -> None:
    reader = bucket.plan()
    apply(bucket, reader)
    bucket.checkpoint(2, bucket.orphan)
    with pytest.raises(Halted, match="referred to by now"):
        carry(bucket, reader, "purge")
    assert is_waiting(bucket, bucket.orphan)
    assert carry(bucket, reader, "undo") == {Path(bucket.orphan).name: "restored"}


@pytest.mark.parametrize("verb", ["apply", "undo", "purge"])
@pytest.mark.parametrize("late", [False, True])
def test_killed_before_or_after_its_first_request_it_goes_on_and_tells_the_truth(
    bucket: Bucket, verb: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = bucket.plan()
    acts = {"apply": lambda: apply(bucket, reader)} | {
        name: (lambda name=name: carry(bucket, reader, name)) for name in ("undo", "purge")
    }
    if verb != "apply":
        apply(bucket, reader)
    called, left = buckets.Bucket._call, [1]

    def dying(self: Any, operation: str, **query: Any) -> Any:
        if not left or operation not in CHANGING:
            return called(self, operation, **query)
        left.clear()
        if late:
            called(self, operation, **query)
        raise Killed

    monkeypatch.setattr(buckets.Bucket, "_call", dying)
    with pytest.raises(Killed):
        acts[verb]()
    acts[verb]()
    word = {"apply": "quarantined", "undo": "restored", "purge": "purged"}[verb]
    assert outcomes(bucket.run(reader, TreeFiles())[0], verb)[Path(bucket.orphan).name] == word
    if verb == "purge":
        assert versions(bucket, bucket.orphan) == []
    else:
        assert is_waiting(bucket, bucket.orphan) == (verb == "apply")
    assert bucket.s3.cat(f"state/flink/{bucket.needed}") == b"state"


@pytest.mark.parametrize("late", [False, True])
def test_what_a_killed_process_took_is_put_back_without_going_on(
    bucket: Bucket, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, called = bucket.plan(), buckets.Bucket._call

    def dying(self: Any, operation: str, **query: Any) -> Any:
        if operation not in CHANGING:
            return called(self, operation, **query)
        if late:
            called(self, operation, **query)
        raise Killed

    with monkeypatch.context() as dies:
        dies.setattr(buckets.Bucket, "_call", dying)
        with pytest.raises(Killed):
            apply(bucket, reader)
    told = carry(bucket, reader, "undo")
    assert told == ({Path(bucket.orphan).name: "restored"} if late else {})
    assert bucket.s3.cat(f"state/flink/{bucket.orphan}") == b"state"
    assert not is_waiting(bucket, bucket.orphan)


@pytest.mark.parametrize("bucket", ["delete_marker"], indirect=True)
def test_what_was_put_back_by_hand_and_taken_by_another_plan_waits_for_that_plan(
    bucket: Bucket,
) -> None:
    first, name = bucket.plan(), Path(bucket.orphan).name
    apply(bucket, first)
    (marker,) = [one for one, what in versions(bucket, bucket.orphan) if what is None]
    bucket.s3.call_s3("delete_object", Bucket="state", Key=key(bucket.orphan), VersionId=marker)
    second = bucket.plan()
    apply(bucket, second)
    assert carry(bucket, first, "purge") == {name: "changed"}
    assert carry(bucket, second, "undo") == {name: "restored"}
    assert bucket.s3.cat(f"state/flink/{bucket.orphan}") == b"state"


@pytest.mark.parametrize("bucket", ["delete_marker"], indirect=True)
@pytest.mark.parametrize("in_one_second", [False, True])
def test_an_older_version_of_the_same_key_stays(
    bucket: Bucket, in_one_second: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one second, nothing says which of two came first: then the file itself stays as well."""
    before = {version for version, _ in versions(bucket, bucket.orphan)}
    time.sleep(1.1)
    write(bucket, bucket.orphan, b"state")
    reader = bucket.plan()
    looked = buckets.Bucket.versions

    def blurred(self: Any, keys: Any) -> Any:
        return {
            key: [version._replace(at=bucket.now) for version in found]
            for key, found in looked(self, keys).items()
        }

    if in_one_second:
        monkeypatch.setattr(buckets.Bucket, "versions", blurred)
    apply(bucket, reader)
    told = carry(bucket, reader, "purge")
    assert list(told.values()) == ([] if in_one_second else ["purged"])
    assert before <= {version for version, _ in versions(bucket, bucket.orphan)}
    assert tree.exists(f"{bucket.read_at}/{bucket.orphan}") == in_one_second


@pytest.mark.parametrize("bucket", ["delete_marker"], indirect=True)
def test_nothing_is_hidden_once_the_bucket_keeps_no_versions(bucket: Bucket) -> None:
    reader = bucket.plan()
    versioning(bucket.s3, "Suspended")
    with pytest.raises(Halted, match="keeps no versions any more"):
        apply(bucket, reader)
    assert bucket.s3.cat(f"state/flink/{bucket.orphan}") == b"state"


def test_a_plan_hides_where_versions_are_kept_long_enough_else_tags_else_moves(
    bucket: Bucket, store: Any
) -> None:
    def way(**changes: Any) -> Any:
        return way_in_place(bucket.read_at, **{"waste": False, "grace": GRACE} | changes)

    assert way() == bucket.way
    assert way_in_place("/mnt/flink", waste=False, grace=GRACE) is None
    if bucket.way == "tag":
        assert way(waste=True) is None
        return
    assert way(waste=True) == "delete_marker"
    rule = {
        "ID": "short",
        "Status": "Enabled",
        "Filter": {"Prefix": ""},
        "NoncurrentVersionExpiration": {"NoncurrentDays": 1},
    }
    store.call_s3(
        "put_bucket_lifecycle_configuration",
        Bucket="state",
        LifecycleConfiguration={"Rules": [rule]},
    )
    assert way(waste=True) is None and way(grace=timedelta(days=1)) == "delete_marker"
    store.call_s3("delete_bucket_lifecycle", Bucket="state")
    versioning(store, "Suspended")
    assert way() is None


@pytest.mark.django_db
@pytest.mark.parametrize("quarantine", ["", "s3://state/elsewhere"])
def test_the_plan_and_its_page_say_which_way(bucket: Bucket, quarantine: str, home: Path) -> None:
    class AsWorld:
        uri = bucket.uri

        def audit(self, folder: Path) -> FreshAudit:
            return bucket.fresh()

        def verdicts(self) -> list[Any]:
            return [bucket.orphan]

    world: Any = AsWorld()
    stored.register(world, quarantine_uri=quarantine)
    stored.audit_of(world, bucket.folder)
    plan = stored.made(world)
    (root,) = reader_of(plan).manifest.roots
    copies = bool(quarantine) and bucket.way == "tag"
    assert (root.moves, root.quarantine) == (("copy", quarantine) if copies else (bucket.way, ""))
    client = Client()
    client.force_login(person("vera"))
    page = client.get(reverse("cleanup-plan", args=(plan.pk,))).content.decode()
    words = {"delete_marker": "hidden by delete markers", "tag": "tagged with the name of the plan"}
    assert [way for way, said in words.items() if said in page] == ([] if copies else [bucket.way])
