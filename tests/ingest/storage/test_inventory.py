"""An inventory gives what a listing of the same tree gives, whoever wrote it."""

import csv
import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.errors import Refused
from ingest.storage.inventory import import_inventory
from ingest.storage.listing import list_root
from ingest.storage.roots import Root
from ingest.uris import Spellings
from tests.ingest.storage.test_listing import paths, rows
from tests.storage_trees import FIXTURES, lay_out

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
MODIFIED = datetime(2026, 11, 21, 4, 10, 57, 339_000, tzinfo=UTC)
ROOT = Root("hdfs://nn/ckpt")


def taken(
    tmp_path: Path, text: str, root: Root = ROOT, name: str = "inventory.csv", **how: Any
) -> list[dict[str, Any]]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return rows(import_inventory(str(tmp_path / name), root, str(tmp_path / "out"), AT, **how))


@pytest.mark.parametrize("packed", [False, True])
def test_the_inventory_of_a_recorded_tree_equals_its_listing(packed: bool, tmp_path: Path) -> None:
    tree = lay_out("1.20.5-H", tmp_path / "tree")
    inventory = FIXTURES / "1.20.5-H" / "listing-final.tsv"
    if packed:
        content, inventory = inventory.read_bytes(), tmp_path / "inventory.tsv.gz"
        inventory.write_bytes(gzip.compress(content))
    imported = import_inventory(str(inventory), tree.root, str(tmp_path / "imported"), AT)
    listed = list_root(tree.root, str(tmp_path / "listed"), at=AT)
    assert rows(imported) == rows(listed)
    assert (imported.files, imported.bytes, imported.as_of, imported.unlisted) == (
        listed.files,
        listed.bytes,
        AT,
        (),
    )


def test_parquet_in_its_own_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "Key": ["ckpt/a", "else/b"],
            "Size": [3, 4],
            "LastModifiedDate": pa.array([MODIFIED] * 2),
            "Bucket": ["state"] * 2,
        }
    )
    pq.write_table(table, tmp_path / "inventory.parquet")
    listed = import_inventory(
        str(tmp_path / "inventory.parquet"), Root("s3://state/ckpt"), str(tmp_path / "out"), AT
    )
    (row,) = rows(listed)
    assert (row["path"], row["listed_path"], row["bytes"], row["modified"]) == (
        "s3://state/ckpt/a",
        "s3://state/ckpt/a",
        3,
        MODIFIED,
    )


def test_what_hdfs_writes_of_its_image(tmp_path: Path) -> None:
    text = (
        "Path\tReplication\tModificationTime\tAccessTime\tPreferredBlockSize\tBlocksCount\tFileSize\tNSQUOTA\tPermission\tUserName\n"
        "/ckpt\t0\t2026-11-21 04:10\t1970-01-01 00:00\t0\t0\t0\t-1\tdrwxr-xr-x\tflink\n"
        "/ckpt/job/shared/a\t3\t2026-11-21 04:10\t2026-11-21 "
        "04:10\t134217728\t1\t42\t0\t-rw-r--r--\tflink\n"
        "/ckpt2/b\t3\t2026-11-21 04:10\t2026-11-21 04:10\t134217728\t1\t42\t0\t-rw-r--r--\tflink\n"
    )
    (row,) = taken(tmp_path, text, name="fsimage.tsv")
    assert (row["path"], row["bytes"], row["modified"]) == (
        "hdfs://nn/ckpt/job/shared/a",
        42,
        MODIFIED.replace(second=0, microsecond=0),
    )
    assert row["replication"] == 3


def test_what_hdfs_prints_of_its_directories(tmp_path: Path) -> None:
    text = (
        "drwxr-xr-x   - flink supergroup          0 2026-11-21 04:10 /ckpt/job\n"
        "-rw-r--r--   2 flink supergroup         42 2026-11-21 04:10 /ckpt/job/shared/a file\n"
        "-rw-r--r--+  3 flink supergroup          7 2026-11-21 04:10 hdfs://nn/ckpt/job/b\n"
        "-rw-r--r--   3 flink supergroup          7 2026-11-21 04:10 /ckpt2/b\n"
    )
    at = MODIFIED.replace(second=0, microsecond=0)
    assert [
        (row["path"], row["bytes"], row["replication"], row["modified"])
        for row in taken(tmp_path, text, name="ls.txt")
    ] == [
        ("hdfs://nn/ckpt/job/b", 7, 3, at),
        ("hdfs://nn/ckpt/job/shared/a file", 42, 2, at),
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("1795234257.339", MODIFIED),
        ("1795234257339", MODIFIED),
        ("2026-11-21T04:10:57.339Z", MODIFIED),
        ("2026-11-21T05:10:57.339+01:00", MODIFIED),
        ("2026-11-21 04:10:57.339", MODIFIED),
        ("2026-11-21 04:10:57.339456 UTC", MODIFIED),
        ("2026-11-21", MODIFIED.replace(hour=0, minute=0, second=0, microsecond=0)),
        ("", None),
    ],
)
def test_times_in_any_of_the_usual_forms(
    written: str, expected: datetime | None, tmp_path: Path
) -> None:
    assert [row["modified"] for row in taken(tmp_path, f"a,1,{written}\n")] == [expected]


@pytest.mark.parametrize(
    "written",
    ["yesterday", "1e300", "nan", "999999999999999", "2026-11-21T25:00:00Z", "2026-11-2"],
)
def test_what_is_no_time_stops(written: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=rf"line 2: an instant.* not '{written}'"):
        taken(tmp_path, f"a,1,2026-11-21\nb,1,{written}\n")


@pytest.mark.parametrize(
    "written",
    [
        "job/a",
        "/ckpt/job/a",
        "hdfs://nn/ckpt/job/a",
        "hdfs://nn:8020/ckpt//job/./a",
        "hdfs://service/ckpt/job/a",
        "/mnt/copy/job/a",
    ],
)
def test_paths_in_any_spelling(written: str, tmp_path: Path) -> None:
    aliases = Spellings((("hdfs://service", "hdfs://nn"),))
    root = Root("hdfs://nn/ckpt", "file:/mnt/copy") if written.startswith("/mnt") else ROOT
    text = f"{'file:' if written.startswith('/mnt') else ''}{written},1,0\n"
    (row,) = taken(tmp_path, text, root, spellings=aliases)
    assert row["path"] == "hdfs://nn/ckpt/job/a"
    assert row["listed_path"] == ("/mnt/copy/job/a" if root.read_at else "hdfs://nn/ckpt/job/a")


def test_what_is_elsewhere_is_left_out(tmp_path: Path) -> None:
    elsewhere = "/ckpt2/a,1,0\nhdfs://other/ckpt/a,1,0\ns3://nn/ckpt/a,1,0\n/ckpt/dir/,0,0\n"
    (row,) = taken(tmp_path, f"{elsewhere}/ckpt/b,1,0\n")
    assert row["path"] == "hdfs://nn/ckpt/b"


def test_a_file_that_lacks_a_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no column for the size among path, time"):
        taken(tmp_path, "path,time\na,0\n")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a,1,0\nb\n", b"PAR1"])
def test_a_file_that_is_no_inventory_is_refused(content: bytes, tmp_path: Path) -> None:
    name = "inventory.parquet" if content == b"PAR1" else "inventory.csv"
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Refused):
        import_inventory(str(tmp_path / name), ROOT, str(tmp_path / "out"), AT)
    with pytest.raises(Refused, match="nowhere"):
        import_inventory(str(tmp_path / "nowhere.csv"), ROOT, str(tmp_path / "out"), AT)


def test_quoted_commas_are_part_of_a_name(tmp_path: Path) -> None:
    with (tmp_path / "inventory.csv").open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["path", "size"], ["a, b", "1"]])
    listed = import_inventory(str(tmp_path / "inventory.csv"), ROOT, str(tmp_path / "out"), AT)
    assert paths(listed) == ["hdfs://nn/ckpt/a, b"]
