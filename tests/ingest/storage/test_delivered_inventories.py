"""Inventories as clouds deliver them read back to exactly what is stored, or not at all."""

import csv
import gzip
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.errors import Refused
from ingest.storage import inventory
from ingest.storage.inventory import import_inventory
from ingest.storage.roots import Root
from ingest.storage.snapshots import Listed, Snapshot
from ingest.uris import canonical
from tests.ingest.storage import inventory_writers as writers
from tests.ingest.storage.inventory_writers import (
    AZURE,
    COS,
    GOOGLE,
    HDFS,
    OSS,
    S3,
    WRITERS,
    Stored,
)
from tests.ingest.storage.test_listing import paths, rows

HANDED = Path("tests/fixtures/inventories")
JOB = "flink/0123456789abcdef0123456789abcdef"
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
BEGUN = datetime(2026, 10, 5, 4, tzinfo=UTC)
OLD = datetime(2026, 10, 1, 3, 7, tzinfo=UTC)
STORED = [
    Stored(f"{JOB}/shared/6f3313ce", 1024, OLD),
    Stored(f"{JOB}/chk-5/_metadata", 99, OLD),
    Stored(f"{JOB}/chk-5/empty", 0, OLD),
    Stored("flink/a b+c%2Bd=é/x, y", 3, OLD),
    Stored("elsewhere/z", 8, OLD),
]

_NAMES = st.text("ab2 +%,\"é=#'&", min_size=1, max_size=5).map(lambda name: f"n{name}n")
_KEYS = st.lists(_NAMES, min_size=1, max_size=3).map("/".join)
_TREES = st.dictionaries(
    st.tuples(st.sampled_from(["flink", "flink2"]), _KEYS).map("/".join),
    st.tuples(st.integers(0, 2**40), st.integers(0, 50_000)),
    min_size=1,
    max_size=7,
)


def taken(given: str, root: str, out: Path, **how: Any) -> Listed:
    return import_inventory(given, Root.of(root), str(out), how.pop("as_of", None), **how)


def expected(stored: list[Stored], root: str) -> list[tuple[Any, ...]]:
    top = root.removesuffix("/flink")
    return sorted(
        (canonical(f"{top}/{file.key}"), f"{top}/{file.key}", file.bytes, file.modified)
        for file in stored
        if file.key.startswith("flink/")
    )


def found(listed: Listed) -> list[tuple[Any, ...]]:
    names = ("path", "listed_path", "bytes", "modified")
    return sorted(tuple(row[name] for name in names) for row in rows(listed))


@pytest.mark.parametrize("form", WRITERS)
def test_each_form_holds_the_files_below_the_root(form: str, tmp_path: Path) -> None:
    root, write = WRITERS[form]
    listed = taken(write(tmp_path, STORED), root, tmp_path / "out")
    assert found(listed) == expected(STORED, root)
    assert (listed.files, listed.bytes, listed.unlisted) == (4, 1126, ())


@settings(max_examples=25, deadline=None)
@given(tree=_TREES, form=st.sampled_from(sorted(WRITERS)))
def test_a_tree_reads_back_as_it_was_whoever_wrote_it(
    tmp_path_factory: pytest.TempPathFactory,
    tree: dict[str, tuple[int, int]],
    form: str,
) -> None:
    folder = tmp_path_factory.mktemp("inventory")
    stored = [
        Stored(key, size, BEGUN - timedelta(minutes=age)) for key, (size, age) in tree.items()
    ]
    stored.append(Stored("flink/job/file", 1, OLD))
    root, write = WRITERS[form]
    assert found(taken(write(folder, stored), root, folder / "out")) == expected(stored, root)


@pytest.mark.parametrize(
    ("name", "root", "files", "size"),
    [
        ("s3inv.csv.gz", S3, 2, 1123),
        ("s3inv.parquet", S3, 2, 1123),
        ("s3inv.orc", S3, 1, 1024),
        ("s3inv-versions.csv", S3, 1, 1024),
        ("s3inv-versions.parquet", S3, 1, 1024),
        ("enc.csv", S3, 1, 1024),
        ("gcs.csv", GOOGLE, 1, 1024),
        ("azinv.csv", "abfs://c@acc.dfs.core.windows.net/flink", 1, 1024),
        ("oiv.tsv", HDFS, 1, 1024),
        ("awsls.txt", S3, 1, 1024),
        ("gsutil.txt", GOOGLE, 1, 1024),
    ],
)
def test_small_inventories_of_the_field(
    name: str, root: str, files: int, size: int, tmp_path: Path
) -> None:
    listed = taken(str(HANDED / name), root, tmp_path / "out", as_of=AT)
    assert (listed.files, listed.bytes) == (files, size)
    assert all(path.startswith(f"{root}/") for path in paths(listed))
    assert not any(path.startswith(f"{root}/flink") for path in paths(listed))


def test_a_manifest_whose_file_is_another_one_is_refused(tmp_path: Path) -> None:
    refused(str(HANDED / "manifest.json"), S3, tmp_path, r"s3inv.csv.gz has the size 158, not 1 ")


def refused(given: str, root: str, tmp_path: Path, why: str, **how: Any) -> None:
    with pytest.raises(Refused, match=why):
        taken(given, root, tmp_path / "out", **how)
    assert Snapshot(str(tmp_path / "out")).listed() is None


def test_an_inventory_of_cos_is_read_for_the_bucket_of_its_account(tmp_path: Path) -> None:
    listed = taken(writers.cos_csv(tmp_path, STORED), COS, tmp_path / "out", as_of=AT)
    assert found(listed) == expected(STORED, COS)


def test_nothing_dates_an_inventory_of_cos_but_who_names_it(tmp_path: Path) -> None:
    """The time of its file is that of its end, or of a download: what was written before, and is
    not listed, would look as if it were not there.
    """
    refused(writers.cos_csv(tmp_path, STORED), COS, tmp_path, "give --as-of")


@pytest.mark.parametrize(
    ("write", "root", "says", "why"),
    [
        (writers.cos_csv, COS, {"listObjectCount": "9"}, "leaves out files below"),
        (writers.cos_csv, COS, {"listObjectCount": "9", "filterObjectCount": "9"}, "5 rows .* 9"),
        (writers.obs_csv, S3, {"of_file": {"inventoriedRecord": 6}}, "5 rows together, not 6"),
        (writers.oss_csv, OSS, {"startTimestamp": "1759320000"}, "lists changes alone"),
        (writers.oss_csv, OSS, {"fileSchema": "Bucket,Key,Size,RecordType"}, "not all files"),
    ],
)
def test_an_inventory_that_says_that_it_is_not_whole_is_refused(
    write: Callable[..., str], root: str, says: dict[str, Any], why: str, tmp_path: Path
) -> None:
    refused(write(tmp_path, STORED, **says), root, tmp_path, why, as_of=AT)


@pytest.mark.parametrize("form", ["s3 csv", "oss csv", "obs csv", "google parquet", "azure csv"])
def test_the_manifest_says_when_an_inventory_was_begun(form: str, tmp_path: Path) -> None:
    root, write = WRITERS[form]
    given = write(tmp_path, STORED)
    assert taken(given, root, tmp_path / "1").as_of == BEGUN
    assert taken(given, root, tmp_path / "2", as_of=AT).as_of == AT


def test_the_names_of_files_say_when_an_inventory_was_begun(tmp_path: Path) -> None:
    writers.google_csv(tmp_path, STORED)
    writers.azure_csv(tmp_path, STORED)
    google = taken(f"{tmp_path}/fc95*_[01].csv", GOOGLE, tmp_path / "1")
    azure = taken(f"{tmp_path}/2026/**/*.csv", AZURE, tmp_path / "2")
    assert google.as_of == azure.as_of == BEGUN
    (tmp_path / "fc95c52f_2026-10-06T04:00_0.csv").write_text("bucket,name,size\n")
    refused(f"{tmp_path}/fc95*_0.csv", GOOGLE, tmp_path, "of different times")


@pytest.mark.parametrize(
    ("form", "newest", "is_refused"),
    [
        ("s3 csv", BEGUN + timedelta(hours=20), False),
        ("s3 csv", BEGUN + timedelta(hours=30), True),
        ("google csv", BEGUN + timedelta(minutes=4), False),
        ("google csv", BEGUN + timedelta(minutes=6), True),
        ("azure csv", BEGUN + timedelta(minutes=24), False),
        ("azure csv", BEGUN + timedelta(minutes=26), True),
    ],
)
def test_no_row_is_newer_than_its_inventory(
    form: str, newest: datetime, is_refused: bool, tmp_path: Path
) -> None:
    root, write = WRITERS[form]
    given = write(tmp_path, [*STORED, Stored("flink/new", 1, newest)])
    if is_refused:
        refused(given, root, tmp_path, r"line \d+: the file was modified at 2026-10-0[56]")
    taken(given, root, tmp_path / "2", as_of=BEGUN if is_refused else None)


def test_no_row_is_days_newer_than_the_instant_that_somebody_named(tmp_path: Path) -> None:
    """A run of a day and any time zone explain what is newer, nothing more."""
    root, write = WRITERS["s3 csv"]
    given = write(tmp_path, STORED)
    newest = max(stored.modified for stored in STORED)
    hours = timedelta(hours=1)
    refused(given, root, tmp_path, "give --as-of", as_of=newest - 39 * hours)
    assert taken(given, root, tmp_path / "2", as_of=newest - 37 * hours).files


def test_no_row_is_newer_than_the_file_that_has_it(tmp_path: Path) -> None:
    file = tmp_path / "ls.txt"
    file.write_text("2026-10-01 08:00:00  7 flink/a\n")
    written = datetime(2026, 10, 1, 0, 1, tzinfo=UTC).timestamp()
    os.utime(file, (written, written))
    refused(str(file), S3, tmp_path, "line 1: the file was modified at .* times are UTC")
    assert taken(str(file), S3, tmp_path / "1", as_of=BEGUN).as_of == BEGUN
    os.utime(file, (written + 29_000, written + 29_000))
    assert taken(str(file), S3, tmp_path / "2").as_of.timestamp() == written + 29_000


def test_an_inventory_of_the_future_is_refused(tmp_path: Path) -> None:
    given = writers.s3_csv(tmp_path, STORED)
    refused(given, S3, tmp_path, "cannot have begun in the future", at=BEGUN - timedelta(hours=1))


def test_a_folder_with_its_manifest_is_one_inventory(tmp_path: Path) -> None:
    writers.s3_csv(tmp_path, STORED)
    assert taken(str(tmp_path), S3, tmp_path.parent / "out").files == 4
    other = tmp_path / "2026-10-06T04-00Z"
    other.mkdir()
    (other / "manifest.json").write_text("{}")
    refused(str(tmp_path), S3, tmp_path, r"holds 2 manifests.*2026-10-06T04-00Z/manifest.json")


def test_a_folder_or_a_glob_without_a_manifest_is_read_together(tmp_path: Path) -> None:
    writers.s3_csv(tmp_path, STORED)
    (tmp_path / "data" / "_SUCCESS").touch()
    assert taken(f"{tmp_path}/data", S3, tmp_path / "1").files == 4
    assert taken(f"{tmp_path}/data/*.gz", S3, tmp_path / "2").files == 4
    refused(f"{tmp_path}/data/*.orc", S3, tmp_path, "no inventory at")


def test_files_of_two_inventories_are_not_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers.s3_csv(tmp_path, STORED)
    many = [Stored(f"flink/{number}", 1, OLD) for number in range(2_000)]
    (tmp_path / "other").mkdir()
    writers.s3_csv(tmp_path / "other", many)
    assert taken(f"{tmp_path}/**/*.csv.gz", S3, tmp_path / "1").files == 2_004
    (tmp_path / "data" / "again.csv.gz").write_bytes(
        (tmp_path / "other" / "data" / "part-1.csv.gz").read_bytes()
    )
    refused(f"{tmp_path}/**/*.csv.gz", S3, tmp_path, "stands twice")
    # Names are sampled by their hash: so many that some are, whatever its seed.
    monkeypatch.setattr(inventory, "MOST_COMPARED", 100)
    refused(f"{tmp_path}/**/*.csv.gz", S3, tmp_path, "stands twice")


def test_one_inventory_in_two_forms_is_not_read_twice(tmp_path: Path) -> None:
    writers.s3_csv(tmp_path, STORED[:1])
    (tmp_path / "data" / "part-0.csv.gz").unlink()
    writers.s3_parquet(tmp_path, STORED[1:])
    refused(f"{tmp_path}/data", S3, tmp_path, "is CSV, and other files are Parquet")


def test_a_part_that_is_not_there_or_is_another_one_stops(tmp_path: Path) -> None:
    given = writers.s3_csv(tmp_path, STORED)
    part = tmp_path / "data" / "part-1.csv.gz"
    whole = part.read_bytes()
    part.write_bytes(whole[:-3])
    refused(given, S3, tmp_path, rf"part-1.csv.gz has the size {len(whole) - 3}, not {len(whole)}")
    part.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    refused(given, S3, tmp_path, r"part-1.csv.gz has the MD5 [0-9a-f]{32}, not [0-9a-f]{32}")
    part.unlink()
    refused(given, S3, tmp_path, "part-1.csv.gz, which .* names, lies neither in the folder")


def test_a_manifest_that_was_cut_off_stops(tmp_path: Path) -> None:
    given = Path(writers.s3_csv(tmp_path, STORED))
    document = json.loads(given.read_text())
    document["files"].pop()
    given.write_text(json.dumps(document))
    refused(str(given), S3, tmp_path, "manifest.json has the MD5")
    given.with_suffix(".checksum").unlink()
    given.write_text(given.read_text()[:-9])
    refused(str(given), S3, tmp_path, "not a whole manifest")


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[]",
        '{"files": [{"key": "a"}]}',
        '{"files": 1, "fileSchema": "Bucket"}',
        '{"fileSchema": 3, "fileFormat": "CSV", "files": []}',
        '{"creationTimestamp": "soon", "fileSchema": "Key", "files": []}',
        '{"report_shards_file_names": ["a"], "shard_count": 2}',
        '{"inventoryStartTime": 3, "status": "Succeeded", "files": []}',
    ],
)
def test_what_is_no_manifest_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    refused(str(tmp_path / "manifest.json"), S3, tmp_path, "not a whole manifest")


SECRET = "root:x:0:0"


def named_by_manifest(folder: Path, key: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({"fileSchema": "Key, Size", "files": [{"key": key}]}))
    return str(manifest)


@pytest.mark.parametrize(
    "key",
    [
        "../../secret.csv",
        "{top}/secret.csv",
        "x{top}/secret.csv",
        "prefix/secret.csv",
        "in/secret.csv",
        "data/out/secret.csv",
        "link.csv",
        "folder/secret.csv",
        "fifo.csv",
        "/".join("a" * 2_000),
    ],
)
def test_no_file_outside_of_its_folders_is_read_for_a_manifest(tmp_path: Path, key: str) -> None:
    """Whoever may write a manifest chooses what is read, and rows that cannot be read are shown."""
    for folder in (tmp_path, tmp_path / "in"):
        folder.mkdir(exist_ok=True)
        (folder / "secret.csv").write_text(SECRET)
    manifest = named_by_manifest(tmp_path / "in" / "in", key.format(top=tmp_path))
    (tmp_path / "in" / "in" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (tmp_path / "in" / "in" / "folder").symlink_to(tmp_path)
    (tmp_path / "in" / "data").mkdir()
    (tmp_path / "in" / "data" / "out").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "in" / "in" / "fifo.csv")
    with pytest.raises(Refused) as refusal:
        taken(manifest, S3, tmp_path / "out")
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize("given", ["", "/*.csv"])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_leads_out_of_a_folder_or_never_ends_is_no_part_of_an_inventory(
    tmp_path: Path, kind: str, given: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("key,size\nflink/a,1\n")
    (tmp_path / "secret.csv").write_text(SECRET)
    if kind == "link":
        (folder / "b.csv").symlink_to(tmp_path / "secret.csv")
    else:
        os.mkfifo(folder / "b.csv")
    why = "leads out of" if kind == "link" else "a FIFO"
    with pytest.raises(Refused, match=why) as refusal:
        taken(f"{folder}{given}", S3, tmp_path / "out")
    assert SECRET not in str(refusal.value)


@pytest.mark.parametrize("given", ["s3://KEY:wJalrXUtnFEMI@inv/x.csv", "s3://wJalrXUtnFEMI@inv/x/"])
def test_no_secret_of_its_address_is_shown_or_kept(tmp_path: Path, given: str) -> None:
    with pytest.raises(Refused, match="cannot be read") as refusal:
        taken(given, S3, tmp_path / "out")
    assert "wJalrXUtnFEMI" not in str(refusal.value)


def test_no_token_of_its_address_is_kept_with_the_listing(tmp_path: Path) -> None:
    file = tmp_path / "a.csv?sv=2022&sig=abcdefghijklmnopqrstuvwx1234567890%3D"
    file.write_text("key,size\nflink/a,1\n")
    assert taken(str(file), S3, tmp_path / "out").files == 1
    kept = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert kept and not any(b"abcdefghijkl" in content for content in kept)


def test_one_long_text_that_parquet_repeats_is_refused_before_it_fills_the_memory(
    tmp_path: Path,
) -> None:
    names = pa.DictionaryArray.from_arrays(
        pa.array([0] * 1_000, pa.int32()), pa.array(["flink/" + "x" * 200_000])
    )
    pq.write_table(pa.table({"key": names, "size": [1] * 1_000}), tmp_path / "a.parquet")
    before = pa.default_memory_pool().max_memory()
    refused(str(tmp_path / "a.parquet"), S3, tmp_path, "200006 bytes|200,006 bytes")
    assert pa.default_memory_pool().max_memory() < before + (50 << 20)


def test_an_inventory_may_itself_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("key,size\nflink/a,1\n")
    (tmp_path / "link.csv").symlink_to("a.csv")
    assert taken(str(tmp_path / "link.csv"), S3, tmp_path / "out").files == 1


def test_rows_are_as_many_as_the_manifest_says(tmp_path: Path) -> None:
    given = writers.google_parquet(tmp_path, STORED)
    document = json.loads(Path(given).read_text()) | {"records_processed": "6"}
    Path(given).write_text(json.dumps(document))
    refused(given, GOOGLE, tmp_path, "have 5 rows together, not 6")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"status": "Pending"}, "not complete"),
        ({"ruleDefinition": {"filters": {"prefixMatch": ["cont/other"]}}}, "leaves out"),
        ({"ruleDefinition": {"filters": {"excludePrefix": ["cont/flink/tmp"]}}}, "leaves out"),
        ({"ruleDefinition": {"filters": {"creationTime": {"lastNDays": 9}}}}, "leaves out"),
        ({"ruleDefinition": {"filters": {"blobTypes": ["appendBlob"]}}}, "leaves out"),
        ({"ruleDefinition": {"filters": {"blobTypes": ["blockBlob"]}}}, None),
        ({"ruleDefinition": {"filters": {"prefixMatch": ["x", "cont/fl"]}}}, None),
        ({"ruleDefinition": {"filters": {"excludePrefix": ["cont/flink2"]}}}, None),
    ],
)
def test_the_rule_of_an_inventory_covers_the_root(
    changed: dict[str, Any], why: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "daily.csv"
    file.write_text("Name,Content-Length\ncont/flink/a,1\n")
    given = writers.azure_manifest(tmp_path, [file], 1, **changed)
    if why is None:
        assert taken(given, AZURE, tmp_path / "out").files == 1
    else:
        refused(given, AZURE, tmp_path, why)


@pytest.mark.parametrize("name", ["prefixMatch", "excludePrefix"])
@pytest.mark.parametrize("said", ["cont/flink", ["cont/flink", 5], [None], {"cont/flink": 1}])
def test_a_rule_that_is_no_list_of_prefixes_covers_nothing(
    name: str, said: Any, tmp_path: Path
) -> None:
    """Of a text each letter would be a prefix: ``c`` covers any root of the container."""
    file = tmp_path / "daily.csv"
    file.write_text("Name,Content-Length\ncont/flink/a,1\n")
    given = writers.azure_manifest(tmp_path, [file], 1, ruleDefinition={"filters": {name: said}})
    refused(given, AZURE, tmp_path, "not a whole manifest")


@pytest.mark.parametrize(
    "root",
    [
        "abfs://cont@acc.dfs.core.windows.net/flink",
        "abfss://cont@acc.dfs.core.windows.net/flink",
        "wasbs://cont@acc.blob.core.windows.net/flink",
        "az://cont/flink",
    ],
)
def test_names_of_azure_begin_with_the_container(root: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("Name,Content-Length\ncont/flink/a,1\nother/flink/b,1\ncont,0\n")
    assert paths(taken(str(file), root, tmp_path / "out")) == [f"{canonical(root)}/a"]


@pytest.mark.parametrize(
    ("header", "row", "is_kept"),
    [
        ("islatest,isdeletemarker", "true,false", True),
        ("islatest,isdeletemarker", "FALSE,false", False),
        ("islatest,isdeletemarker", "true,TRUE", False),
        ("versionid,islatest", "v1,", False),
        ("versionid,islatest", "null,", True),
        ("versionid,iscurrentversion", ",", True),
        ("deleted", "", True),
        ("deleted", "True", False),
        ("snapshot", "2026-09-01T00:00:00Z", False),
        ("timeDeleted", "2026-09-01T00:00:00Z", False),
        ("timeDeleted,generation", ",1234", True),
        ("hdi_isfolder", "true", False),
        ("hdi_isfolder", "false", True),
    ],
)
def test_only_the_latest_version_that_is_not_deleted_counts(
    header: str, row: str, is_kept: bool, tmp_path: Path
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        f"{header},key,size\n{row},flink/a,1\n{',' * header.count(',')},flink/b,1\n"
        if "versionid" not in header
        else f"{header},key,size\n{row},flink/a,1\nv2,true,flink/b,1\n"
    )
    kept = paths(taken(str(file), S3, tmp_path / "out"))
    assert kept == [f"{S3}/a"] * is_kept + [f"{S3}/b"]


@pytest.mark.parametrize(
    ("header", "row", "why"),
    [
        ("isLatest", "maybe", "true or false is expected, not 'maybe'"),
        ("version_id", "v1", r"which version is the latest \(IsLatest\) is expected, not 'v1'"),
    ],
)
def test_which_version_is_the_latest_must_be_said(
    header: str, row: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text(f"key,size,{header}\nflink/a,1,\nflink/b,1,{row}\n")
    refused(str(tmp_path / "a.csv"), S3, tmp_path, f"a.csv, line 3: .*{why}")


def test_columns_without_a_header_are_those_of_s3_inventory(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(
        '"buck","flink/a+b%2Bc","v2","true","false","7","2026-10-01T00:00:00.000Z","e","false"\n'
        '"buck","flink/a+b%2Bc","v1","false","false","6","2026-09-01T00:00:00.000Z","e","false"\n'
        '"buck","flink/gone","v3","true","true","","2026-10-01T00:00:00.000Z","",""\n'
    )
    (row,) = rows(taken(str(file), S3, tmp_path / "1"))
    assert (row["path"], row["bytes"]) == (f"{S3}/a b+c", 7)
    file.write_text('"buck","flink/a","7","STANDARD","false"\n')
    assert found(taken(str(file), S3, tmp_path / "2")) == [(f"{S3}/a", f"{S3}/a", 7, None)]


@pytest.mark.parametrize(
    "text",
    [
        "other,flink/a,7,2026-10-01T00:00:00Z,e\n",
        "buck,flink/a,7,8,2026-10-01T00:00:00Z\n",
        "buck,flink/a,7,2026-10-01T00:00:00Z,2027-10-01T00:00:00Z\n",
        "buck,flink/a,e,STANDARD\n",
        "nonsense\n",
        "<html>\n<body>\n",
    ],
)
def test_columns_that_are_not_certain_are_not_guessed(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    refused(str(tmp_path / "a.csv"), S3, tmp_path, "not certain what each column holds")


def test_a_delimiter_of_more_than_one_character_is_refused(tmp_path: Path) -> None:
    refused(writers.image(tmp_path, STORED, "||"), HDFS, tmp_path, "with one character")


_BAD = [
    ({"size": b"many"}, "a size in bytes is expected, not 'many'"),
    ({"size": b""}, "a size in bytes is expected, not ''"),
    ({"size": b"-1"}, "a size in bytes is expected, not '-1'"),
    ({"at": b"yesterday"}, "an instant, such as .* is expected, not 'yesterday'"),
    ({"at": b"2026-02-30T00:00:00Z"}, "an instant, such as .* is expected, not '2026-02-30"),
    ({"key": b"flink/\xff"}, "text in UTF-8 is expected"),
    ({"key": b"flink/100%"}, "a URL-encoded key is expected, not 'flink/100%'"),
    ({"key": b"flink/%FF"}, "a URL-encoded key is expected, not 'flink/%FF'"),
    ({"key": b""}, "a path is expected, not ''"),
    ({"key": b"flink/%00"}, "a path is expected"),
    ({"at": b"2026-10-01T00:00:00Z,more"}, "a row of 4 columns is expected"),
    ({"at": b"2026-10-01T00:00:00Z\nbuck,cut"}, "a row of 4 columns is expected, not 'buck,cut'"),
]


@settings(max_examples=40, deadline=None)
@given(
    bad=st.sampled_from(_BAD),
    before=st.integers(0, 40),
    behind=st.integers(0, 3),
    blank=st.booleans(),
    packed=st.booleans(),
)
def test_one_bad_row_at_any_place_stops_and_is_named(
    tmp_path_factory: pytest.TempPathFactory,
    bad: tuple[dict[str, bytes], str],
    before: int,
    behind: int,
    blank: bool,
    packed: bool,
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    cell, why = bad
    good = {"key": b"flink/good", "size": b"1", "at": b"2026-10-01T00:00:00Z"}
    cells = [good] * before + [good | cell] + [good] * behind
    lines = [b"bucket,key,size,last_modified_date"]
    lines += [b",".join([b"buck", row["key"], row["size"], row["at"]]) for row in cells]
    lines += [b"", b"\r"] if blank else []
    content = b"\n".join(lines)
    file = folder / "a.csv"
    file.write_bytes(gzip.compress(content) if packed else content)
    at = before + 2 + (b"\n" in cell.get("at", b""))
    refused(str(file), S3, folder, rf"a.csv, line {at}: {why}")


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("size", None, "a size in bytes is expected, not ''"),
        ("size", -1, "a size in bytes is expected, not '-1'"),
        ("key", None, "a path is expected, not ''"),
        ("key", "a\nb", "a path is expected"),
    ],
)
def test_a_bad_row_of_parquet_is_named(column: str, value: Any, why: str, tmp_path: Path) -> None:
    good = {"bucket": "buck", "key": "flink/a", "size": 1}
    table = pa.Table.from_pylist([good, good, good | {column: value}])
    pq.write_table(table, tmp_path / "a.parquet")
    refused(str(tmp_path / "a.parquet"), S3, tmp_path, f"a.parquet, row 3: {why}")


@pytest.mark.parametrize(
    "change",
    [
        {"key": pa.array(["flink/a"]).dictionary_encode()},
        {"key": pa.array(["flink/a"], pa.large_string())},
        {"key": pa.array([b"flink/a"])},
        {"size": pa.array([7], pa.uint32())},
        {"size": pa.array([7.0])},
        {"size": pa.array(["7"])},
        {"modified": pa.array([OLD], pa.timestamp("ns", "Asia/Shanghai"))},
        {"modified": pa.array([OLD.replace(tzinfo=None)], pa.timestamp("us"))},
        {"modified": pa.array([OLD.isoformat()])},
        {"modified": pa.array([round(OLD.timestamp() * 1000)])},
    ],
)
def test_columns_of_any_type_that_holds_them(change: dict[str, pa.Array], tmp_path: Path) -> None:
    columns = {"key": ["flink/a"], "size": [7], "modified": [OLD]}
    pq.write_table(pa.table(columns | change), tmp_path / "a.parquet")
    assert found(taken(str(tmp_path / "a.parquet"), S3, tmp_path / "out")) == [
        (f"{S3}/a", f"{S3}/a", 7, OLD)
    ]


@pytest.mark.parametrize(
    ("write", "line", "why"),
    [
        (writers.printed_by_hdfs, "Found 3 items", "a line of hdfs dfs -ls -R is expected"),
        (writers.printed_by_hdfs, "lrwxrwxrwx   - u g  0 2026-10-01 04:10 /flink/a", "lrwx"),
        (writers.printed_by_hdfs, "ls: Permission denied: user=x", "not 'ls: Permission"),
        (writers.printed_by_hdfs, "-rw-r--r--  3 u g 1.2 K 2026-10-01 04:10 /flink/a", "1.2 K"),
        (writers.printed_by_aws, "                           PRE folder/", "aws s3 ls --recursive"),
        (writers.printed_by_aws, "2026-10-01 00:00:00    1.0 KiB flink/a", "1.0 KiB"),
        (writers.printed_by_gsutil, "                        gs://buck/flink/job/", "gsutil ls"),
    ],
)
@pytest.mark.parametrize("place", [0, 2])
def test_a_line_that_no_recursive_listing_prints_stops(
    write: Callable[..., str], line: str, why: str, place: int, tmp_path: Path
) -> None:
    given = Path(write(tmp_path, STORED))
    lines = given.read_text().splitlines()
    if place:
        lines.insert(place, line)
    else:
        lines.append(line)
    given.write_text("\n".join(lines))
    root = {writers.printed_by_hdfs: HDFS, writers.printed_by_aws: S3}.get(write, GOOGLE)
    at = place + 1 if place else len(lines)
    refused(str(given), root, tmp_path, rf"line {at}: .*{why}")


def test_a_printed_listing_that_was_cut_off_stops(tmp_path: Path) -> None:
    given = Path(writers.printed_by_gsutil(tmp_path, STORED))
    whole = given.read_text().splitlines(keepends=True)
    given.write_text("".join(whole[:-1]))
    refused(str(given), GOOGLE, tmp_path, "cut off: its files are 5, and its total is not there")
    given.write_text("".join(whole[:4] + whole[-1:]))
    refused(str(given), GOOGLE, tmp_path, "files are 1, and its total is 5")
    given = Path(writers.printed_by_aws(tmp_path, STORED))
    whole = given.read_text().splitlines(keepends=True)
    given.write_text("".join(whole[1:]))
    refused(str(given), S3, tmp_path, "files are 5, and its total is 6")


@pytest.mark.parametrize(
    "text",
    ['flink/a,1,"x\nflink/b,2,"y\n', 'flink/a,1,"x\nflink/b,2,y\n', '"flink/a\nb",1,x\n'],
)
def test_a_quote_does_not_swallow_rows(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"key,size,owner\nflink/0,1,z\n{text}")
    refused(str(tmp_path / "a.csv"), S3, tmp_path, "never closed|a row of 3 columns|a path")


def test_blank_lines_end_a_file_and_stand_nowhere_else(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"key,size\r\nflink/a,1\r\n\r\n\n")
    assert taken(str(file), S3, tmp_path / "1").files == 1
    file.write_bytes(b"key,size\nflink/a,1\n\nflink/b,1\n")
    refused(str(file), S3, tmp_path, "line 3: a size in bytes")


@pytest.mark.parametrize("form", ["s3 csv", "google parquet", "s3 orc"])
def test_a_file_that_was_cut_off_stops(form: str, tmp_path: Path) -> None:
    root, write = WRITERS[form]
    write(tmp_path, STORED)
    part = max(file for end in ("gz", "parquet", "orc") for file in tmp_path.rglob(f"*.{end}"))
    part.write_bytes(part.read_bytes()[:-12])
    refused(str(part), root, tmp_path, "was cut off")


def test_an_inventory_of_something_else_is_no_empty_root(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("bucket,key,size\nother,flink/a,1\nbuck,flink2/a,1\n")
    refused(str(file), S3, tmp_path, r"None of the 2 files .* is s3://other/flink/a")
    file.write_text("bucket,key,size\n")
    assert taken(str(file), S3, tmp_path / "1").files == 0
    file.write_text("drwxr-xr-x   - flink g          0 2026-10-01 04:10 /flink/job\n")
    assert taken(str(file), HDFS, tmp_path / "2").files == 0


def test_a_name_is_opened_as_the_storage_spells_it(tmp_path: Path) -> None:
    with (tmp_path / "a.csv").open("w", newline="") as out:
        csv.writer(out).writerows([["name", "size"], ["flink/a%2Bb", 1], ["flink//c", 2]])
    listed = rows(taken(str(tmp_path / "a.csv"), GOOGLE, tmp_path / "out"))
    assert [(row["path"], row["listed_path"]) for row in listed] == [
        (f"{GOOGLE}/a+b", f"{GOOGLE}/a%2Bb"),
        (f"{GOOGLE}/c", f"{GOOGLE}//c"),
    ]


def test_a_placeholder_of_a_directory_is_no_file_unless_it_has_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("key,size\nflink/,0\nflink/b/,3\nflink/a,1\n")
    listed = taken(str(tmp_path / "a.csv"), S3, tmp_path / "out")
    assert [row["bytes"] for row in rows(listed)] == [1, 3]


def test_a_manifest_in_an_object_store_names_files_from_the_top_of_its_bucket(
    tmp_path: Path,
) -> None:
    store = fsspec.filesystem("memory")
    given = writers.s3_csv(tmp_path, STORED)
    try:
        store.put(given, "/inventories/some/prefix/buck/daily/2026-10-05T04-00Z/manifest.json")
        for part in (tmp_path / "data").iterdir():
            store.put(str(part), f"/inventories/some/prefix/buck/daily/data/{part.name}")
        manifest = "memory://inventories/some/prefix/buck/daily/2026-10-05T04-00Z/manifest.json"
        assert taken(manifest, S3, tmp_path / "1").files == 4
        folder = taken("memory://inventories/some/prefix/buck/daily", S3, tmp_path / "2")
        assert (folder.files, folder.as_of) == (4, BEGUN)
    finally:
        store.store.clear()
        store.pseudo_dirs[:] = [""]
