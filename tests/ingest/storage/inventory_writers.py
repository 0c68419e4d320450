"""Inventories as each provider writes them, by :mod:`csv` and pyarrow alone: names and fields are
those of their documentation.
"""

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc


@dataclass(frozen=True)
class Stored:
    """``key`` from the top of the bucket, the container or the file system."""

    key: str
    bytes: int
    modified: datetime


Write = Callable[[Path, Sequence[Stored]], str]
"""Writes into a folder, and returns what is given as ``--listing``."""

S3, OSS, COS, GOOGLE, AZURE, HDFS = (
    "s3://buck/flink",
    "oss://buck/flink",
    "cosn://buck-1250000000/flink",
    "gs://buck/flink",
    "abfs://cont@acc.dfs.core.windows.net/flink",
    "hdfs://nn/flink",
)
BEGUN = "2026-10-05T04:00:00Z"
BEGUN_MS = 1_791_172_800_000


def halves(rows: Sequence[Any]) -> list[Sequence[Any]]:
    return [rows[: len(rows) // 2], rows[len(rows) // 2 :]]


def iso(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def s3_manifest(folder: Path, schema: str, form: str, files: Sequence[Path]) -> str:
    """As ``CONFIG/2026-10-05T04-00Z/manifest.json`` beside ``CONFIG/data``."""
    manifest = folder / "2026-10-05T04-00Z" / "manifest.json"
    manifest.parent.mkdir(exist_ok=True)
    document = {
        "sourceBucket": "buck",
        "destinationBucket": "arn:aws:s3:::inventories",
        "version": "2016-11-30",
        "creationTimestamp": str(BEGUN_MS),
        "fileFormat": form,
        "fileSchema": schema,
        "files": [
            {
                "key": f"some/prefix/buck/daily/data/{file.name}",
                "size": file.stat().st_size,
                "MD5checksum": hashlib.md5(file.read_bytes()).hexdigest(),
            }
            for file in files
        ],
    }
    content = json.dumps(document).encode()
    manifest.write_bytes(content)
    manifest.with_suffix(".checksum").write_text(hashlib.md5(content).hexdigest())
    return str(manifest)


def s3_csv(folder: Path, stored: Sequence[Stored], *, versions: bool = False) -> str:
    schema = ["Bucket", "Key", "VersionId", "IsLatest", "IsDeleteMarker"] if versions else []
    schema = [*(schema or ["Bucket", "Key"]), "Size", "LastModifiedDate", "ETag", "StorageClass"]
    files = []
    (folder / "data").mkdir(exist_ok=True)
    for number, part in enumerate(halves(stored)):
        text = io.StringIO()
        out = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for file in part:
            key, at = quote_plus(file.key, safe="/"), iso(file.modified)
            current = [str(file.bytes), at, "d41d8cd98f00b204e9800998ecf8427e", "STANDARD"]
            out.writerow(["buck", key, *(["v2", "true", "false"] if versions else []), *current])
            if versions:
                out.writerow(["buck", key, "v1", "false", "false", "7", *current[1:]])
                out.writerow(["buck", f"{key}.gone", "v9", "true", "true", "", at, "", ""])
        files.append(folder / "data" / f"part-{number}.csv.gz")
        files[-1].write_bytes(gzip.compress(text.getvalue().encode()))
    return s3_manifest(folder, ", ".join(schema), "CSV", files)


def _like_s3(folder: Path, names: str, rows: Sequence[Sequence[str]], **says: Any) -> str:
    """Of one file, which lies beside the folder of its manifest unless ``within`` names another."""
    within, made = says.pop("within", ""), folder / says.pop("made", "2026-10-05T04-00Z")
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    file = (folder / within if within != "files" else made / within) / "f0.csv.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.getvalue().encode()))
    of_file = {
        "key": f"prefix/{folder.name}/{file.relative_to(folder)}",
        says.pop("digest"): hashlib.md5(file.read_bytes()).hexdigest().upper(),
        "size": file.stat().st_size,
    } | says.pop("of_file", {})
    made.mkdir(exist_ok=True)
    document = {
        "sourceBucket": "buck",
        "fileFormat": "CSV",
        "fileSchema": names,
        "files": [of_file],
    }
    (made / "manifest.json").write_text(json.dumps(document | says))
    return str(made / "manifest.json")


def oss_csv(folder: Path, stored: Sequence[Stored], **says: Any) -> str:
    """Alibaba's: it counts seconds, and its times have hyphens."""
    rows = [
        ["buck", quote_plus(file.key), str(file.bytes), f"{file.modified:%Y-%m-%dT%H-%M-%SZ}"]
        for file in stored
    ]
    told = {"creationTimestamp": str(BEGUN_MS // 1000), "version": "2019-09-01"} | says
    names = "Bucket, Key, Size, LastModifiedDate"
    return _like_s3(folder, names, rows, within="data", digest="MD5checksum", **told)


def cos_csv(folder: Path, stored: Sequence[Stored], **says: Any) -> str:
    """Tencent's: account and bucket stand apart, and no instant says when it was begun."""
    rows = [
        ["1250000000", "buck", quote_plus(file.key), str(file.bytes), iso(file.modified)]
        for file in stored
    ]
    count = str(len(rows))
    told = {"sourceAppid": "1250000000", "listObjectCount": count, "filterObjectCount": count}
    names = "Appid, Bucket, Key, Size, LastModifiedDate"
    return _like_s3(folder, names, rows, made="20261005", digest="md5Checksum", **told | says)


def obs_csv(folder: Path, stored: Sequence[Stored], **says: Any) -> str:
    """Huawei's, which says how many rows a file has."""
    rows = [["buck", quote_plus(file.key), str(file.bytes), iso(file.modified)] for file in stored]
    told = {"version": "2019-01-03", "of_file": {"inventoriedRecord": len(rows)}} | says
    names = "Bucket,Key,Size,LastModifiedDate"
    return _like_s3(folder, names, rows, within="files", digest="MD5checksum", **told)


def s3_csv_versions(folder: Path, stored: Sequence[Stored]) -> str:
    return s3_csv(folder, stored, versions=True)


def s3_typed(folder: Path, stored: Sequence[Stored], form: str) -> str:
    """All versions; what is chosen stands in another order."""
    (folder / "data").mkdir(exist_ok=True)
    files = []
    for number, part in enumerate(halves(stored)):
        rows = [
            {
                "storage_class": "STANDARD",
                "last_modified_date": file.modified.replace(tzinfo=None),
                "bucket": "buck",
                "size": None if gone else file.bytes,
                "version_id": version,
                "is_delete_marker": gone,
                "is_latest": latest,
                "key": key,
            }
            for file in part
            for key, version, latest, gone in (
                (file.key, "b", True, False),
                (file.key, "a", False, False),
                (f"{file.key}.gone", "c", True, True),
            )
        ]
        schema = pa.schema(
            [
                ("storage_class", pa.string()),
                ("last_modified_date", pa.timestamp("ms" if form == "parquet" else "ns")),
                *[(name, pa.string()) for name in ("bucket", "version_id", "key")],
                *[(name, pa.bool_()) for name in ("is_delete_marker", "is_latest")],
                ("size", pa.int64()),
            ]
        )
        files.append(folder / "data" / f"part-{number}.{form}")
        table = pa.Table.from_pylist(rows, schema)
        pq.write_table(table, files[-1]) if form == "parquet" else orc.write_table(table, files[-1])
    return s3_manifest(folder, "struct<bucket:string,key:string>", form.upper(), files)


def s3_parquet(folder: Path, stored: Sequence[Stored]) -> str:
    return s3_typed(folder, stored, "parquet")


def s3_orc(folder: Path, stored: Sequence[Stored]) -> str:
    return s3_typed(folder, stored, "orc")


_GOOGLE = ("project", "bucket", "name", "size", "timeCreated", "timeDeleted", "updated", "etag")


def google_manifest(
    folder: Path, names: Sequence[str], rows: int, options: dict[str, Any] | None = None
) -> str:
    manifest = folder / "fc95c52f_2026-10-05T04:00_manifest.json"
    manifest.write_text(
        json.dumps(
            {
                "report_config": {
                    "csv_options": options or {"delimiter": ",", "header_required": True},
                    "object_metadata_report_options": {"metadata_fields": list(_GOOGLE)},
                },
                "records_processed": rows,
                "snapshot_time": BEGUN,
                "shard_count": len(names),
                "report_shards_file_names": list(names),
            }
        )
    )
    return str(manifest)


def google_csv(folder: Path, stored: Sequence[Stored], *, header: bool = True) -> str:
    names = []
    separator = "," if header else ";"
    for number, part in enumerate(halves(stored)):
        names.append(f"fc95c52f_2026-10-05T04:00_{number}.csv")
        with (folder / names[-1]).open("w", newline="", encoding="utf-8") as stream:
            out = csv.writer(stream, delimiter=separator)
            out.writerows([_GOOGLE] if header else [])
            for file in part:
                at = iso(file.modified)
                out.writerow(["p", "buck", file.key, file.bytes, at, "", at, "x"])
                out.writerow(["p", "buck", file.key, 5, at, at, at, "x"])
    options = {"delimiter": separator, "header_required": header}
    return google_manifest(folder, names, 2 * len(stored), options)


def google_csv_without_header(folder: Path, stored: Sequence[Stored]) -> str:
    return google_csv(folder, stored, header=False)


def google_parquet(folder: Path, stored: Sequence[Stored]) -> str:
    names = []
    for number, part in enumerate(halves(stored)):
        names.append(f"fc95c52f_2026-10-05T04:00_{number}.parquet")
        at = pa.timestamp("us", "UTC")
        schema = [("bucket", pa.string()), ("name", pa.string()), ("size", pa.int64())]
        schema += [("updated", at), ("timeDeleted", at)]
        rows = [
            {"bucket": "buck", "name": file.key, "size": file.bytes, "updated": file.modified}
            for file in part
        ]
        pq.write_table(pa.Table.from_pylist(rows, pa.schema(schema)), folder / names[-1])
    return google_manifest(folder, names, len(stored))


def azure_manifest(folder: Path, files: Sequence[Path], rows: int, **changed: Any) -> str:
    manifest = files[0].parent / "daily-manifest.json"
    document = {
        "destinationContainer": "inventories",
        "endpoint": "https://acc.blob.core.windows.net",
        "files": [
            {"blob": str(file.relative_to(folder)), "size": file.stat().st_size} for file in files
        ],
        "inventoryCompletionTime": "2026-10-05T04:20:00Z",
        "inventoryStartTime": BEGUN,
        "ruleDefinition": {
            "filters": {"blobTypes": ["blockBlob"], "prefixMatch": ["cont"]},
            "format": "csv",
            "objectType": "blob",
        },
        "ruleName": "daily",
        "status": "Succeeded",
        "summary": {"objectCount": rows, "totalObjectSize": 1},
        "version": "1.0",
    }
    manifest.write_text(json.dumps(document | changed))
    return str(manifest)


_AZURE = (
    *("Name", "Creation-Time", "Last-Modified", "Content-Length", "BlobType", "Snapshot"),
    *("VersionId", "IsCurrentVersion", "Deleted", "hdi_isfolder"),
)


def azure_rows(file: Stored, written: Callable[[datetime], Any] = iso) -> list[dict[str, Any]]:
    """The blob, an older version, a snapshot, a deleted one, and a directory."""
    at = written(file.modified)
    blob = dict.fromkeys(_AZURE) | {
        "Name": f"cont/{file.key}",
        "Creation-Time": at,
        "Last-Modified": at,
        "Content-Length": file.bytes,
        "BlobType": "BlockBlob",
        "VersionId": "2026-10-01T00:00:00.0000000Z",
        "IsCurrentVersion": True,
    }
    return [
        blob,
        blob | {"VersionId": "2026-09-01T00:00:00.0000000Z", "IsCurrentVersion": None},
        blob | {"VersionId": None, "IsCurrentVersion": None, "Snapshot": "2026-09-01T00:00:00Z"},
        blob | {"Deleted": True},
        blob | {"Name": f"cont/{file.key}.d", "Content-Length": 0, "hdi_isfolder": True},
    ]


def azure_csv(folder: Path, stored: Sequence[Stored]) -> str:
    files = []
    day = folder / "2026/10/05/04-00-00/daily"
    day.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(halves(stored)):
        files.append(day / f"daily_1000000_{number}.csv")
        with files[-1].open("w", newline="", encoding="utf-8") as stream:
            out = csv.DictWriter(stream, _AZURE)
            out.writeheader()
            for file in part:
                for row in azure_rows(file):
                    out.writerow(
                        {
                            name: str(value).lower() if isinstance(value, bool) else value
                            for name, value in row.items()
                        }
                    )
    return azure_manifest(folder, files, 5 * len(stored))


def azure_parquet(folder: Path, stored: Sequence[Stored]) -> str:
    day = folder / "2026/10/05/04-00-00/daily"
    day.mkdir(parents=True, exist_ok=True)
    at = pa.timestamp("ms")
    types = {"Creation-Time": at, "Last-Modified": at, "Content-Length": pa.int64()}
    types |= dict.fromkeys(("IsCurrentVersion", "Deleted", "hdi_isfolder"), pa.bool_())
    schema = pa.schema([(name, types.get(name, pa.string())) for name in _AZURE])
    rows = [
        row
        for file in stored
        for row in azure_rows(file, lambda instant: instant.replace(tzinfo=None))
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema), day / "daily.parquet")
    return azure_manifest(folder, [day / "daily.parquet"], len(rows))


_IMAGE = (
    *("Path", "Replication", "ModificationTime", "AccessTime", "PreferredBlockSize"),
    *("BlocksCount", "FileSize", "NSQUOTA", "DSQUOTA", "Permission", "UserName", "GroupName"),
)


def image(folder: Path, stored: Sequence[Stored], separator: str = "\t") -> str:
    """``hdfs oiv -p Delimited``, which quotes as CSV does whatever the delimiter is."""
    lines = [separator.join(_IMAGE)]
    for file in stored:
        path = f"/{file.key}"
        if any(letter in path for letter in '",'):
            path = '"' + path.replace('"', '""') + '"'
        at = f"{file.modified:%Y-%m-%d %H:%M}"
        block = ["134217728", "1", str(file.bytes), "0", "0", "-rw-r--r--", "flink", "flink"]
        lines.append(separator.join([path, "3", at, at, *block]))
        folder_of = ["0", "0", "0", "-1", "-1", "drwxr-xr-x+", "flink", "flink"]
        lines.append(separator.join(["/flink", "0", at, "1970-01-01 00:00", *folder_of]))
    (folder / "image").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / "image")


def image_with_pipes(folder: Path, stored: Sequence[Stored]) -> str:
    return image(folder, stored, "|")


def printed_by_hdfs(folder: Path, stored: Sequence[Stored]) -> str:
    lines = ["drwxr-xr-x   - flink supergroup          0 2026-10-01 04:10 /flink/job"]
    lines += [
        f"-rw-r--r--   3 flink supergroup {file.bytes:>10} {file.modified:%Y-%m-%d %H:%M} /{file.key}"
        for file in stored
    ]
    return _text(folder, lines)


def printed_by_aws(folder: Path, stored: Sequence[Stored]) -> str:
    lines = [f"{file.modified:%Y-%m-%d %H:%M:%S} {file.bytes:>10} {file.key}" for file in stored]
    lines += ["2026-10-01 00:00:00          0 flink/placeholder/"]
    total = sum(file.bytes for file in stored)
    return _text(
        folder, [*lines, "", f"Total Objects: {len(stored) + 1}", f"   Total Size: {total}"]
    )


def printed_by_gsutil(folder: Path, stored: Sequence[Stored]) -> str:
    lines = ["gs://buck/flink/:"]
    for file in stored:
        at = f"{file.modified:%Y-%m-%dT%H:%M:%SZ}"
        lines += [f"{file.bytes:>10}  {at}  gs://buck/{file.key}", "", "gs://buck/flink/job/:"]
    total = sum(file.bytes for file in stored)
    return _text(folder, [*lines, f"TOTAL: {len(stored)} objects, {total} bytes (1 KiB)"])


def _text(folder: Path, lines: Sequence[str]) -> str:
    (folder / "printed.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder / "printed.txt")


WRITERS: dict[str, tuple[str, Write]] = {
    "s3 csv": (S3, s3_csv),
    "s3 csv of versions": (S3, s3_csv_versions),
    "s3 parquet": (S3, s3_parquet),
    "s3 orc": (S3, s3_orc),
    "oss csv": (OSS, oss_csv),
    "obs csv": (S3, obs_csv),
    "google csv": (GOOGLE, google_csv),
    "google csv without header": (GOOGLE, google_csv_without_header),
    "google parquet": (GOOGLE, google_parquet),
    "azure csv": (AZURE, azure_csv),
    "azure parquet": (AZURE, azure_parquet),
    "hdfs image": (HDFS, image),
    "hdfs image with pipes": (HDFS, image_with_pipes),
    "hdfs dfs -ls -R": (HDFS, printed_by_hdfs),
    "aws s3 ls": (S3, printed_by_aws),
    "gsutil ls": (GOOGLE, printed_by_gsutil),
}
