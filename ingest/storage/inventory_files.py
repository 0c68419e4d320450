"""The files of an inventory: one file, those of a glob or a folder, or those that a manifest names
(``manifest.json`` of S3 Inventory, ``<rule>-manifest.json`` of Azure's blob inventory,
``<report>_manifest.json`` of Google's Storage Insights), which says when it was begun and by sizes
and checksums whether all of it is there.
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
"""From the beginning of an inventory to its last row, if nothing says it, as of S3. Google takes a
snapshot, and Azure says when it was completed.
"""
_MOST_MANIFEST_BYTES = 64 << 20
_MOST_KEY_CHARS = 1024
_BLOCK_BYTES = 4 << 20
_NOT_PARTS = (".checksum", ".crc", ".md5")
_MD5 = re.compile("[0-9A-Fa-f]{32}")
_DAY = re.compile("[0-9]{8}")
_GLOB = re.compile(r"[*?[]")
_BEGUN_IN_NAME = re.compile(
    r"(?<!\d)(\d{4})[-/](\d\d)[-/](\d\d)[T/](\d\d)[:-](\d\d)(?:[:-](\d\d))?Z?(?=[_/])"
)
"""In UTC: ``2026-10-01T04:00_0.csv`` of Google, ``2026/10/01/04-00-00/`` of Azure,
``2026-10-01T04-00Z/`` of S3.
"""


@dataclass(frozen=True, slots=True)
class InventoryFile:
    name: str
    bytes: int | None = None
    md5: str | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """``begun``: later files may be missing. ``latest``: none of its rows can be newer.
    ``is_gathered``: several files without a manifest, which may be of several inventories.
    ``columns`` and ``delimiter``: of files without a header; ``rows``: of all files together.
    ``prefixes`` and ``left_out``: containers and prefixes that its rule takes and leaves out.
    ``is_dated``: its name or the times of its files say when it was begun, if nothing else does.
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
        """If its rule leaves out files below ``uri`` (canonical, of Azure)."""
        scheme, _, rest = uri.partition("://")
        authority, _, path = rest.partition("/")
        here = f"{authority.partition('@')[0]}/{path}" if scheme in ("abfs", "wasb") else rest
        covered = not self.prefixes or any(here.startswith(prefix) for prefix in self.prefixes)
        lacking = [
            prefix for prefix in self.left_out if here.startswith(prefix) or is_below(prefix, here)
        ]
        if lacking or not covered:
            raise Refused(
                message(
                    "The rule of {file:name} leaves out files below {root:name} (prefixMatch, "
                    "excludePrefix or another filter); take an inventory of the whole root.",
                    file=self.name,
                    root=uri,
                )
            )


def find_inventory(name: str) -> Inventory:
    """``name``: a path or an fsspec URI of a file, a manifest or a folder, or a glob. Raises
    ``Refused`` if there is none, or several, or if it is not complete.
    """
    try:
        with as_os_error():
            filesystem, path = fsspec.core.url_to_fs(local_path(name))
            found = _find_files(filesystem, path)
            manifests = [file for file in found if file.endswith(".json")]
            if not found:
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
                len(found) == 1 and filesystem.cat_file(found[0], end=1) in (b"{", b"[")
            ):
                return _from_manifest(name, filesystem, (manifests or found)[0])
            return _from_files(name, filesystem, found)
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
    for measure, found, expected in (
        (message("size"), size, file.bytes),
        ("MD5", digest.hexdigest(), file.md5 and file.md5.lower()),
    ):
        if expected is not None and found != expected:
            raise Refused(
                message(
                    "{file:name} has the {measure:text} {found:name}, not {expected:name} as "
                    "{manifest:name} says; fetch it again.",
                    file=file.name,
                    measure=measure,
                    found=str(found),
                    expected=str(expected),
                    manifest=manifest,
                )
            )


def _find_files(filesystem: Any, path: str) -> list[str]:
    within: str | None = path
    if (wild := _GLOB.search(path)) and not filesystem.exists(path):
        files = filesystem.glob(path)
        within = path[: wild.start()].rpartition("/")[0] or "/"
    elif filesystem.isdir(path):
        files = filesystem.find(path)
    else:
        files, within = [path] if filesystem.exists(path) else [], None
    found = sorted(
        file
        for file in files
        if within is None
        or (not PurePosixPath(file).name.startswith((".", "_")) and not file.endswith(_NOT_PARTS))
    )
    _refuse_others(filesystem, found, within)
    return found


def _from_files(asked: str, filesystem: Any, found: Sequence[str]) -> Inventory:
    names = [_uri(asked, filesystem, file) for file in found]
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
    known = [time for time in times if time is not None]
    if not known or len(known) < len(times):
        return inventory
    return replace(inventory, begun=min(known), latest=max(known) + CLOCK_SKEW)


def _begun_in(name: str) -> datetime | None:
    match = _BEGUN_IN_NAME.search(name)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups("0"))
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def _from_manifest(asked: str, filesystem: Any, path: str) -> Inventory:
    name = _uri(asked, filesystem, path)
    content = filesystem.cat_file(path, end=_MOST_MANIFEST_BYTES)
    checksum = f"{path.removesuffix('.json')}.checksum"
    if filesystem.exists(checksum):
        digest = filesystem.cat_file(checksum, end=64).decode("ascii", "replace").strip()
        if _MD5.fullmatch(digest):
            verify(InventoryFile(name, md5=digest), _uri(asked, filesystem, checksum))
    try:
        document, _ = json_bounds.decoded(content)
        if not isinstance(document, dict):
            raise TypeError
        says = _by_letters(document)
        for vendor in (_from_google, _from_azure, _from_s3):
            if (made := vendor(name, says)) is not None:
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
        InventoryFile(_locate(filesystem, path, name, file.name, made), file.bytes, file.md5)
        for file in made.files
    )
    made = replace(made, files=files)
    return made if made.begun is not None or not made.is_dated else _with_date(filesystem, made)


def _from_s3(name: str, says: Mapping[str, Any]) -> Inventory:
    """Also of Alibaba's OSS, which counts seconds, Tencent's COS and Huawei's OBS."""
    if "starttimestamp" in says:
        raise Refused(
            message(
                "{file:name} is of an incremental inventory, which lists changes alone; name the "
                "manifest of a full one.",
                file=name,
            )
        )
    begun = says.get("creationtimestamp")
    at = None if begun is None else datetime.fromtimestamp(_seconds(int(begun)), UTC)
    columns = says["fileschema"] if says.get("fileformat", "CSV").upper() == "CSV" else None
    files = [(_by_letters(file), str(file["key"])) for file in says["files"]]
    counts = [_count(of.get("inventoriedrecord")) for of, _ in files]
    rows = _count(says.get("filterobjectcount"))
    if rows is None and None not in counts:
        rows = sum(count or 0 for count in counts)
    return Inventory(
        name,
        tuple(
            InventoryFile(key, _count(of.get("size")), of.get("mdchecksum")) for of, key in files
        ),
        at,
        at and at + LONGEST_RUN,
        columns=columns and tuple(column.strip() for column in columns.split(",")),
        rows=rows,
        # Of a prefix that its rule may have, no manifest tells.
        left_out=() if rows == _count(says.get("listobjectcount", rows)) else ("",),
        is_dated="sourceappid" not in says,
    )


def _seconds(since_1970: int) -> float:
    """Of milliseconds, or seconds: 1973 in milliseconds is the year 5138 in seconds."""
    return since_1970 / 1000 if since_1970 >= 100_000_000_000 else since_1970


def _from_azure(name: str, says: Mapping[str, Any]) -> Inventory | None:
    if "inventorystarttime" not in says:
        return None
    if says["status"] != "Succeeded":
        raise Refused(
            message(
                "The inventory of {file:name} is not complete (its status is {status:name}); take "
                "one that succeeded.",
                file=name,
                status=str(says["status"]),
            )
        )
    filters = says.get("ruledefinition", {}).get("filters", {})
    completed = says.get("inventorycompletiontime")
    # Files of the last days only, or none as Flink writes them: no root is covered.
    types = _texts(filters.get("blobTypes"))
    is_partial = filters.get("creationTime") or (types and "blockBlob" not in types)
    return Inventory(
        name,
        tuple(InventoryFile(str(file["blob"]), _count(file.get("size"))) for file in says["files"]),
        _instant(says["inventorystarttime"]),
        completed and _instant(completed) + CLOCK_SKEW,
        rows=_count(says.get("summary", {}).get("objectCount")),
        prefixes=_texts(filters.get("prefixMatch")),
        left_out=("",) if is_partial else _texts(filters.get("excludePrefix")),
    )


def _from_google(name: str, says: Mapping[str, Any]) -> Inventory | None:
    shards = says.get("reportshardsfilenames")
    if shards is None:
        return None
    if len(shards) != _count(says.get("shardcount", len(shards))):
        raise ValueError
    begun = says.get("snapshottime")
    at = None if begun is None else _instant(begun)
    config = _by_letters(says.get("reportconfig", {}))
    options = _by_letters(config.get("csvoptions") or {})
    fields = _by_letters(config.get("objectmetadatareportoptions") or {}).get("metadatafields")
    return Inventory(
        name,
        tuple(InventoryFile(str(shard)) for shard in shards),
        at,
        at and at + CLOCK_SKEW,
        columns=_texts(fields) if fields and options.get("headerrequired") is False else None,
        delimiter=options.get("delimiter"),
        rows=_count(says.get("recordsprocessed")),
    )


def _locate(filesystem: Any, path: str, manifest: str, key: str, made: Inventory) -> str:
    parts = PurePosixPath(key.lstrip("/")).parts
    beside = PurePosixPath(path).parent
    # Those of COS lie in a folder of the day beside the data.
    is_of_day = not made.is_dated and _DAY.fullmatch(beside.name) and key.endswith(".csv.gz")
    if len(key) <= _MOST_KEY_CHARS and ".." not in parts:
        for start in range(len(parts)):
            # Above a top folder are other buckets, or the whole machine.
            is_data = beside.parent.name != "" and (
                parts[start] == "data"
                or (is_of_day and parts[start - 1 : -1] == (beside.parent.name,))
            )
            for folder in (beside, beside.parent) if is_data else (beside,):
                place = str(folder.joinpath(*parts[start:]))
                if filesystem.isfile(place):
                    _refuse_others(filesystem, [place], str(folder))
                    return _uri(manifest, filesystem, place)
    raise Refused(
        message(
            "{file:name}, which {manifest:name} names, lies neither in the folder of the manifest "
            "nor in data beside that folder. Put all files of the inventory there.",
            file=key[:_MOST_KEY_CHARS],
            manifest=manifest,
        )
    )


def _refuse_others(filesystem: Any, files: Sequence[str], within: str | None) -> None:
    """Raises ``OSError`` if a local file leads out of ``within``, or is no regular file."""
    if isinstance(filesystem, LocalFileSystem):
        for file in files:
            open_regular(file, within=within).close()


def _uri(asked: str, filesystem: Any, path: str) -> str:
    return local_path(spelled_as(asked, filesystem, path))


def letters(name: str) -> str:
    """Names of columns and fields are compared without case, hyphens and underscores."""
    return "".join(character for character in name.lower() if character.isalpha())


def _by_letters(document: Mapping[str, Any]) -> dict[str, Any]:
    return {letters(name): value for name, value in document.items()}


def _count(value: Any) -> int | None:
    """Google writes 64 bits as text."""
    return None if value is None else int(value)


def _texts(values: Any) -> tuple[str, ...]:
    """Raises ``TypeError`` unless it is a list of texts: a text would be read letter by letter."""
    if not isinstance(values, list | None) or not all(
        isinstance(text, str) for text in values or ()
    ):
        raise TypeError
    return tuple(values or ())


def _instant(value: str) -> datetime:
    at = datetime.fromisoformat(value)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
