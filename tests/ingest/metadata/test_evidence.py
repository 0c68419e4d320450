"""Reading chosen ``_metadata`` in a collect cycle: what is reachable becomes rows, what is not
stays unknown and is said once.
"""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.metadata.evidence import EvidenceBudget, read_evidence
from ingest.records import Checkpoint, Job, Observed, Reference, Skip
from ingest.sources import MetadataRoot, MetadataSource

H = Path(__file__).parents[2] / "fixtures" / "recordings" / "1.20.5" / "H" / "ckpt"
OLD, NEW = "529e897760f6e03e1f133da1a22370aa", "a543f50a31c05fe8abd08f0fe0ab98b2"
WRITTEN = "s3a://flink/ckpt"
AT = datetime(2026, 11, 21, 4, 10, 12, tzinfo=UTC)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for job, number in ((OLD, 6), (NEW, 7)):
        shutil.copytree(H / job / f"chk-{number}", tmp_path / "ckpt" / job / f"chk-{number}")
    return tmp_path / "ckpt"


def a_restore(root: str) -> list[Observed]:
    job = Job(
        NEW,
        "name",
        "RUNNING",
        restored_at=AT - timedelta(seconds=5),
        restored_path=f"{root}/{OLD}/chk-6",
    )
    first = Checkpoint(
        NEW,
        7,
        AT - timedelta(seconds=3),
        "COMPLETED",
        is_savepoint=False,
        external_path=f"{root}/{NEW}/chk-7",
    )
    return [Observed("c", AT, "rest", (job, first))]


def read(
    root: str,
    source: MetadataSource | None = None,
    cursor: dict[str, Any] | None = None,
    **more: Any,
) -> tuple[list, dict]:
    observed, after = read_evidence(
        source or MetadataSource(), "c", cursor or {}, a_restore(root), AT, **more
    )
    return [record for reading in observed for record in reading.records], after


def of(*roots: str, **more: Any) -> MetadataSource:
    return MetadataSource(roots=tuple(map(MetadataRoot, roots)), **more)


def files(records: list) -> list[str]:
    return [
        record.metadata_path
        for record in records
        if isinstance(record, Reference) and record.ordinal == 0
    ]


def skips(records: list) -> list[Skip]:
    return [record for record in records if isinstance(record, Skip)]


def test_local_snapshots_are_read_and_named_canonically(tree: Path) -> None:
    records, _ = read(f"file://{tree}", of(f"file:{tree}"))
    assert files(records) == [
        f"file:{tree}/{OLD}/chk-6/_metadata",
        f"file:{tree}/{NEW}/chk-7/_metadata",
    ]
    assert skips(records) == []


def test_a_registered_root_says_where_a_copy_is_read(tree: Path) -> None:
    records, _ = read(WRITTEN, MetadataSource(roots=(MetadataRoot("s3://flink/ckpt", str(tree)),)))
    assert files(records) == [
        f"s3://flink/ckpt/{OLD}/chk-6/_metadata",
        f"s3://flink/ckpt/{NEW}/chk-7/_metadata",
    ]


def test_an_alias_leads_to_the_registered_root(tree: Path) -> None:
    source = MetadataSource(
        roots=(MetadataRoot("hdfs://ns/ckpt", str(tree)),),
        aliases=(("hdfs://nn1:8020", "hdfs://ns"),),
    )
    records, _ = read("hdfs://nn1:8020/ckpt", source)
    assert len(files(records)) == 2


def test_nothing_outside_registered_roots_is_asked_over_a_network() -> None:
    records, _ = read("http://169.254.169.254/latest")
    assert {(skip.reason, "register the root" in skip.detail) for skip in skips(records)} == {
        ("unreadable_metadata", True)
    }
    assert files(records) == []


def test_an_unreachable_directory_is_said_once() -> None:
    records, cursor = read("file:/not/here", of("file:/not/here"))
    assert [skip.subject for skip in skips(records)] == [f"file:/not/here/{OLD}".rsplit("/", 1)[0]]
    again, _ = read("file:/not/here", of("file:/not/here"), cursor={**cursor, "jobs": {}})
    assert again == []


def test_a_snapshot_that_is_gone_is_nothing_to_say(tree: Path) -> None:
    shutil.rmtree(tree / OLD / "chk-6")
    records, _ = read(f"file:{tree}", of(f"file:{tree}"))
    assert files(records) == [f"file:{tree}/{NEW}/chk-7/_metadata"]
    assert skips(records) == []


def test_a_damaged_file_is_skipped_and_the_next_is_read(tree: Path) -> None:
    (tree / OLD / "chk-6" / "_metadata").write_bytes(b"no metadata")
    records, _ = read(f"file:{tree}", of(f"file:{tree}"))
    assert [skip.reason for skip in skips(records)] == ["bad_metadata"]
    assert files(records) == [f"file:{tree}/{NEW}/chk-7/_metadata"]


def test_large_files_are_left_to_the_audit(tree: Path) -> None:
    records, _ = read(f"file:{tree}", of(f"file:{tree}", file_bytes=1_000))
    assert [skip.reason for skip in skips(records)] == ["too_large", "too_large"]


def test_what_goes_beyond_one_cycle_is_read_in_the_next(tree: Path) -> None:
    first, cursor = read(f"file:{tree}", of(f"file:{tree}", files_per_cycle=1))
    second, _ = read(f"file:{tree}", of(f"file:{tree}", files_per_cycle=1), cursor)
    assert files(first) + files(second) == [
        f"file:{tree}/{OLD}/chk-6/_metadata",
        f"file:{tree}/{NEW}/chk-7/_metadata",
    ]


def test_a_cycle_without_time_left_leaves_everything_for_the_next(tree: Path) -> None:
    records, cursor = read(f"file:{tree}", budget=EvidenceBudget(seconds=0))
    assert records == []
    assert len(cursor["waiting"]) == 2


SHAPES = ("there", "no file", "a directory", "no directory")


def shaped(place: Path, shape: str) -> None:
    """Of what a path to a ``_metadata`` leads to."""
    for job, number in ((OLD, 6), (NEW, 7)):
        directory = place / job / f"chk-{number}"
        if shape == "there":
            shutil.copytree(H / job / f"chk-{number}", directory)
        elif shape == "a directory":
            (directory / "_metadata").mkdir(parents=True)
        elif shape == "no file":
            directory.mkdir(parents=True)


@pytest.mark.parametrize("whose", ["theirs", "nobody's", "below a link", "theirs, read elsewhere"])
def test_what_is_of_no_root_of_the_cluster_is_refused_in_the_same_words_whatever_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    told = set()
    for number, shape in enumerate(SHAPES):
        # Names of one length: the words are compared without them.
        place = tmp_path / f"place-{number}"
        shaped(place, shape)
        named, roots = f"file:{place}", (MetadataRoot(f"file:{place}", "", ("theirs",)),)
        if whose == "nobody's":
            roots = ()
        elif whose == "below a link":
            (link := tmp_path / f"inner-{number}").symlink_to(place)
            named = f"file:{link}"
            monkeypatch.setenv("WEIR_READ_DIRS", str(tmp_path))
        elif whose == "theirs, read elsewhere":
            roots = (MetadataRoot("s3://theirs/ckpt", str(place), ("theirs",)),)
            monkeypatch.setenv("WEIR_READ_DIRS", str(tmp_path))
        records, _ = read(named, MetadataSource(roots=roots))
        (skip,) = skips(records)
        assert files(records) == []
        told.add(
            f"{skip.reason} {skip.detail}".replace(str(place), "").replace(
                named.removeprefix("file:"), ""
            )
        )
    assert len(told) == 1


def test_links_below_a_root_lead_to_nothing_and_do_not_tell_what_is_there(tmp_path: Path) -> None:
    told = set()
    for number, shape in enumerate(SHAPES):
        shaped(tmp_path / f"elsewhere-{number}", shape)
        (tmp_path / f"root-{number}").mkdir()
        for job in (OLD, NEW):
            (tmp_path / f"root-{number}" / job).symlink_to(tmp_path / f"elsewhere-{number}" / job)
        root = f"file:{tmp_path}/root-{number}"
        records, _ = read(root, of(root))
        assert files(records) == []
        told.add(skips(records)[0].detail.replace(f"{tmp_path}/root-{number}", ""))
    assert len(told) == 1


def test_a_remote_root_of_another_cluster_is_not_asked() -> None:
    records, _ = read(
        WRITTEN, MetadataSource(roots=(MetadataRoot("s3://flink/ckpt", "memory://x", ("theirs",)),))
    )
    other, _ = read(WRITTEN, MetadataSource())
    assert [skip.detail for skip in skips(records)] == [skip.detail for skip in skips(other)]
    assert len(skips(records)) == 1


def test_a_root_within_a_root_of_ours_stays_theirs(tree: Path) -> None:
    roots = (
        MetadataRoot(f"file:{tree}", "", ("c",)),
        MetadataRoot(f"file:{tree}/{OLD}", "", ("theirs",)),
    )
    records, _ = read(f"file:{tree}", MetadataSource(roots=roots))
    assert files(records) == [f"file:{tree}/{NEW}/chk-7/_metadata"]


def test_a_root_of_ours_and_theirs_is_read_for_both(tree: Path) -> None:
    records, _ = read(
        f"file:{tree}", MetadataSource(roots=(MetadataRoot(f"file:{tree}", "", ("c", "theirs")),))
    )
    assert len(files(records)) == 2


def test_a_listed_directory_is_read_without_a_root(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_READ_DIRS", f"/var/log/flink,{tree.parent}")
    records, _ = read(f"file:{tree}")
    assert len(files(records)) == 2 and skips(records) == []
