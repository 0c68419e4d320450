"""Finds the files of an inventory: one file, the files of a glob or a folder, or those that a
manifest names (``manifest.json`` of S3 Inventory, ``<rule>-manifest.json`` of Azure's blob
inventory, ``<report>_manifest.json`` of Google's Storage Insights). A manifest also says when the
inventory began, and the sizes and checksums of its files.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from ingest import json_bounds
from ingest.errors import Refused, words_of
from ingest.messages import message
from ingest.network.unopened import as_os_error
from ingest.network.uris import spelled_as
from ingest.regular_files import open_regular
from ingest.storage.instants import CLOCK_SKEW, modified_at
from ingest.storage.roots import local_path
from ingest.uris import is_below

LONGEST_RUN = timedelta(hours=24)
"""From the beginning of an inventory to its last row, if the manifest does not say it, as in S3.
Google takes a snapshot, and Azure says when the inventory was completed.
"""
_MOST_MANIFEST_BYTES = 64 << 20
_MOST_KEY_CHARS = 1024
_BLOCK_BYTES = 4 << 20
_CHECKSUM_SUFFIXES = (".checksum", ".crc", ".md5")
_MD5 = re.compile("[0-9A-Fa-f]{32}")
_DAY = re.compile("[0-9]{8}")
_GLOB = re.compile(r"[*?[]")
_BEGUN_IN_NAME = re.compile(
    r"(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[T/](\d\d)[:-](\d\d)(?:[:-](\d\d))?Z?(?=[_/])"
)
"""A time in UTC: ``2026-10-01T04:00_0.csv`` of Google, ``2026/10/01/04-00-00/`` of Azure,
``2026-10-01T04-00Z/`` of S3.
"""


@dataclass(frozen=True, slots=True)
class InventoryFile:
    name: str
    bytes: int | None = None
    md5: str | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """``begun``: later files may be missing. ``latest``: no row can be newer. ``is_gathered``:
    without a manifest, the files may be of several inventories. ``columns`` and ``delimiter`` are
    for files without a header. ``rows``: number of rows of all files. ``prefixes`` and
    ``left_out``: containers and prefixes that the inventory's rule includes and excludes.
    ``is_dated``: if ``begun`` is unknown, the name or the times of the files show it.
    """

    name: str
    files: tuple[InventoryFile, ...]
    begun: datetime | None = None
    latest: datetime | None = None
    is_gathered: bool = False
    columns: tuple[str, ...] | None = None
    delimiter: str | None = None
    rows: int | None = None
    prefixes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    is_dated: bool = True

    def refuse_other_root(self, uri: str) -> None:
        """Raises ``Refused`` if the rule leaves out files below ``uri`` (canonical)."""
        scheme, _, rest = uri.partition("://")
        authority, _, path = rest.partition("/")
        location = f"{authority.partition('@')[0]}/{path}" if scheme in ("abfs", "wasb") else rest
        is_covered = not self.prefixes or any(
            location.startswith(prefix) for prefix in self.prefixes
        )
        excluded = [
            prefix
            for prefix in self.left_out
            if location.startswith(prefix) or is_below(prefix, location)
        ]
        if excluded or not is_covered:
            raise Refused(
                message(
                    "The rule of {file:name} leaves out files below {root:name} (prefixMatch, "
                    "excludePrefix or another filter); take an inventory of the whole root.",
                    file=self.name,
                    root=uri,
                )
            )


def find_inventory(name: str) -> Inventory:
    """``name``: path or fsspec URI of a file, a manifest or a folder, or a glob. Raises ``Refused``
    unless there is exactly one, complete inventory.
    """
    try:
        with as_os_error():
            filesystem, path = fsspec.core.url_to_fs(local_path(name))
            files = _find_files(filesystem, path)
            manifests = [file for file in files if file.endswith(".json")]
            if not files:
                raise Refused(message("There is no inventory at {file:name}.", file=name))
            if len(manifests) > 1:
                raise Refused(
                    message(
                        "{file:name} holds {count:count} manifests, each of another inventory; name "
                        "one, such as {newest:name}.",
                        file=name,
                        count=len(manifests),
                        newest=manifests[-1],
                    )
                )
            if manifests or (
                len(files) == 1 and filesystem.cat_file(files[0], end=1) in (b"{", b"[")
            ):
                return _from_manifest(name, filesystem, (manifests or files)[0])
            return _without_manifest(name, filesystem, files)
    except (OSError, ValueError, ImportError) as error:
        raise Refused(
            message(
                "The inventory {file:name} cannot be read: {error:text}.",
                file=name,
                error=words_of(error),
            )
        ) from error


def verify(file: InventoryFile, manifest: str) -> None:
    if file.bytes is None and file.md5 is None:
        return
    size, digest = 0, hashlib.md5(usedforsecurity=False)
    with fsspec.open(local_path(file.name), "rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            size += len(block)
            if file.md5 is not None:
                digest.update(block)
    for measure, actual, expected in (
        (message("size"), size, file.bytes),
        ("MD5", digest.hexdigest(), file.md5 and file.md5.lower()),
    ):
        if expected is not None and actual != expected:
            raise Refused(
                message(
                    "{file:name} has the {measure:text} {found:name}, not {expected:name} as "
                    "{manifest:name} says; fetch it again.",
                    file=file.name,
                    measure=measure,
                    found=str(actual),
                    expected=str(expected),
                    manifest=manifest,
                )
            )


def _find_files(filesystem: Any, path: str) -> list[str]:
    folder: str | None = path
    if (glob := _GLOB.search(path)) and not filesystem.exists(path):
        files = filesystem.glob(path)
        folder = path[: glob.start()].rpartition("/")[0] or "/"
    elif filesystem.isdir(path):
        files = filesystem.find(path)
    else:
        files, folder = [path] if filesystem.exists(path) else [], None
    regular_files = sorted(
        file
        for file in files
        if folder is None
        or (
            not PurePosixPath(file).name.startswith((".", "_"))
            and not file.endswith(_CHECKSUM_SUFFIXES)
        )
    )
    _require_regular(filesystem, regular_files, folder)
    return regular_files


def _without_manifest(pattern: str, filesystem: Any, paths: Sequence[str]) -> Inventory:
    names = [_uri(pattern, filesystem, file) for file in paths]
    begun = {_begun_in(name) for name in names}
    if len(begun) > 1:
        raise Refused(
            message(
                "{one:name} and {other:name} are of inventories of different times; name the files "
                "of one.",
                one=names[0],
                other=names[-1],
            )
        )
    files = tuple(map(InventoryFile, names))
    return _with_date(filesystem, Inventory(names[0], files, is_gathered=len(files) > 1))


def _with_date(filesystem: Any, inventory: Inventory) -> Inventory:
    begun = _begun_in(inventory.name)
    if begun is not None:
        return replace(inventory, begun=begun, latest=begun + LONGEST_RUN)
    times = [modified_at(filesystem.info(file.name)) for file in inventory.files]
    dated = [time for time in times if time is not None]
    if not dated or len(dated) < len(times):
        return inventory
    return replace(inventory, begun=min(dated), latest=max(dated) + CLOCK_SKEW)


def _begun_in(name: str) -> datetime | None:
    match = _BEGUN_IN_NAME.search(name)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups("0"))
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def _from_manifest(pattern: str, filesystem: Any, path: str) -> Inventory:
    name = _uri(pattern, filesystem, path)
    content = filesystem.cat_file(path, end=_MOST_MANIFEST_BYTES)
    checksum = f"{path.removesuffix('.json')}.checksum"
    if filesystem.exists(checksum):
        digest = filesystem.cat_file(checksum, end=64).decode("ascii", "replace").strip()
        if _MD5.fullmatch(digest):
            verify(InventoryFile(name, md5=digest), _uri(pattern, filesystem, checksum))
    try:
        document, _ = json_bounds.decoded(content)
        if not isinstance(document, dict):
            raise TypeError
        members = _by_letters(document)
        for vendor in (_from_google, _from_azure, _from_s3):
            if (inventory := vendor(name, members)) is not None:
                break
        else:
            raise KeyError
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise Refused(
            message(
                "{file:name} is not a whole manifest of an inventory of S3, Azure or Google. Name "
                "its manifest, or its data files.",
                file=name,
            )
        ) from error
    files = tuple(
        InventoryFile(_locate(filesystem, path, name, file.name, inventory), file.bytes, file.md5)
        for file in inventory.files
    )
    inventory = replace(inventory, files=files)
    return (
        inventory
        if inventory.begun is not None or not inventory.is_dated
        else _with_date(filesystem, inventory)
    )


def _from_s3(name: str, members: Mapping[str, Any]) -> Inventory:
    """For S3, Alibaba's OSS, which counts seconds, Tencent's COS and Huawei's OBS."""
    if "starttimestamp" in members:
        raise Refused(
            message(
                "{file:name} is of an incremental inventory, which lists changes alone; name the "
                "manifest of a full one.",
                file=name,
            )
        )
    begun = members.get("creationtimestamp")
    at = None if begun is None else datetime.fromtimestamp(_seconds(int(begun)), UTC)
    columns = members["fileschema"] if members.get("fileformat", "CSV").upper() == "CSV" else None
    files = [(_by_letters(file), str(file["key"])) for file in members["files"]]
    counts = [_count(entry.get("inventoriedrecord")) for entry, _ in files]
    rows = _count(members.get("filterobjectcount"))
    if rows is None and None not in counts:
        rows = sum(count or 0 for count in counts)
    return Inventory(
        name,
        tuple(
            InventoryFile(key, _count(entry.get("size")), entry.get("mdchecksum"))
            for entry, key in files
        ),
        at,
        at and at + LONGEST_RUN,
        columns=columns and tuple(column.strip() for column in columns.split(",")),
        rows=rows,
        # The manifest does not show a prefix of the rule.
        left_out=() if rows == _count(members.get("listobjectcount", rows)) else ("",),
        is_dated="sourceappid" not in members,
    )


def _seconds(since_1970: int) -> float:
    """``since_1970`` is in milliseconds from 1e11 on: 1973, but in seconds the year 5138."""
    return since_1970 / 1000 if since_1970 >= 100_000_000_000 else since_1970


def _from_azure(name: str, members: Mapping[str, Any]) -> Inventory | None:
    if "inventorystarttime" not in members:
        return None
    if members["status"] != "Succeeded":
        raise Refused(
            message(
                "The inventory of {file:name} is not complete (its status is {status:name}); take "
                "one that succeeded.",
                file=name,
                status=str(members["status"]),
            )
        )
    filters = members.get("ruledefinition", {}).get("filters", {})
    completed = members.get("inventorycompletiontime")
    # Only files of the last days, or no files like Flink's: no root is covered.
    types = _texts(filters.get("blobTypes"))
    is_partial = filters.get("creationTime") or (types and "blockBlob" not in types)
    return Inventory(
        name,
        tuple(
            InventoryFile(str(file["blob"]), _count(file.get("size"))) for file in members["files"]
        ),
        _instant(members["inventorystarttime"]),
        completed and _instant(completed) + CLOCK_SKEW,
        rows=_count(members.get("summary", {}).get("objectCount")),
        prefixes=_texts(filters.get("prefixMatch")),
        left_out=("",) if is_partial else _texts(filters.get("excludePrefix")),
    )


def _from_google(name: str, members: Mapping[str, Any]) -> Inventory | None:
    shards = members.get("reportshardsfilenames")
    if shards is None:
        return None
    if len(shards) != _count(members.get("shardcount", len(shards))):
        raise ValueError
    begun = members.get("snapshottime")
    at = None if begun is None else _instant(begun)
    config = _by_letters(members.get("reportconfig", {}))
    options = _by_letters(config.get("csvoptions") or {})
    fields = _by_letters(config.get("objectmetadatareportoptions") or {}).get("metadatafields")
    return Inventory(
        name,
        tuple(InventoryFile(str(shard)) for shard in shards),
        at,
        at and at + CLOCK_SKEW,
        columns=_texts(fields) if fields and options.get("headerrequired") is False else None,
        delimiter=options.get("delimiter"),
        rows=_count(members.get("recordsprocessed")),
    )


def _locate(filesystem: Any, path: str, manifest: str, key: str, inventory: Inventory) -> str:
    parts = PurePosixPath(key.lstrip("/")).parts
    manifest_folder = PurePosixPath(path).parent
    # COS's manifests are in a folder of the day, beside the data.
    is_of_day = (
        not inventory.is_dated and _DAY.fullmatch(manifest_folder.name) and key.endswith(".csv.gz")
    )
    if len(key) <= _MOST_KEY_CHARS and ".." not in parts:
        for start in range(len(parts)):
            # The parent of a top folder would be all buckets, or the whole machine.
            is_data = manifest_folder.parent.name != "" and (
                parts[start] == "data"
                or (is_of_day and parts[start - 1 : -1] == (manifest_folder.parent.name,))
            )
            for folder in (
                (manifest_folder, manifest_folder.parent) if is_data else (manifest_folder,)
            ):
                file = str(folder.joinpath(*parts[start:]))
                if filesystem.isfile(file):
                    _require_regular(filesystem, [file], str(folder))
                    return _uri(manifest, filesystem, file)
    raise Refused(
        message(
            "{file:name}, which {manifest:name} names, lies neither in the folder of the manifest "
            "nor in data beside that folder. Put all files of the inventory there.",
            file=key[:_MOST_KEY_CHARS],
            manifest=manifest,
        )
    )


def _require_regular(filesystem: Any, files: Sequence[str], folder: str | None) -> None:
    if isinstance(filesystem, LocalFileSystem):
        for file in files:
            open_regular(file, within=folder).close()


def _uri(pattern: str, filesystem: Any, path: str) -> str:
    return local_path(spelled_as(pattern, filesystem, path))


def letters(name: str) -> str:
    """The letters of a column's name, in lower case, by which names are compared."""
    return "".join(character for character in name.lower() if character.isalpha())


def _by_letters(document: Mapping[str, Any]) -> dict[str, Any]:
    return {letters(name): value for name, value in document.items()}


def _count(value: Any) -> int | None:
    return None if value is None else int(value)


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list | None) or not all(
        isinstance(text, str) for text in values or ()
    ):
        raise TypeError
    return tuple(values or ())


def _instant(value: str) -> datetime:
    at = datetime.fromisoformat(value)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
