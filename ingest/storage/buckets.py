import time
from bisect import bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

import fsspec

from ingest.network.unopened import as_os_error
from ingest.storage.instants import cut, modified_at
from ingest.storage.tree import Stat

MOST_KEYS = 1_000
KEYS_A_DELETION = 250
"""In one DeleteObjects request. Stores delete the keys of a request one by one: four concurrent
requests end sooner than one of 1,000 keys.
"""
CONCURRENT_REQUESTS = 16
BUSY = ("SlowDown", "InternalError", "ServiceUnavailable")
WAITS_S = (1, 2, 4)
_PAGES_IN_A_ROW = 4
"""Keys close together are in so few pages. Keys on later pages are read concurrently."""

Item = TypeVar("Item", bound=Hashable)
Object = tuple[str, str | None]
Query = Mapping[str, str]


class Version(NamedTuple):
    """``stat`` is None for a delete marker."""

    id: str
    is_latest: bool
    stat: Stat | None
    at: datetime | None


class Page(NamedTuple):
    """``entries``: (key, entry). ``end``: entries are complete up to this key; ``None`` on the last
    page. ``next_query``: query for the next page.
    """

    entries: Sequence[tuple[str, Any]]
    end: str | None = None
    next_query: Query | None = None


class Bucket:
    def __init__(self, filesystem: Any, name: str) -> None:
        self._filesystem, self.name = filesystem, name

    @classmethod
    def of(cls, uri: str) -> "Bucket | None":
        if not uri.startswith(("s3://", "s3a://")):
            return None
        with as_os_error():
            filesystem = fsspec.core.url_to_fs(uri, use_listings_cache=False)[0]
        return cls(filesystem, filesystem.split_path(uri)[0])

    def key(self, path: str) -> str:
        key: str = self._filesystem.split_path(path)[1]
        return key

    def stats(self, keys: Sequence[str]) -> dict[str, Stat]:
        requested = set(keys)
        return {key: stat for key, stat in self._list(keys, self._stats_page) if key in requested}

    def versions(self, keys: Sequence[str]) -> dict[str, list[Version]]:
        requested = set(keys)
        by_key: dict[str, dict[str, Version]] = {key: {} for key in requested}
        for key, version in self._list(keys, self._versions_page):
            if key in requested:
                by_key[key][version.id] = version
        # A page that began within the versions of a key lacks the latest one.
        incomplete = [
            key
            for key, versions in by_key.items()
            if not any(version.is_latest for version in versions.values())
        ]
        pages = self.side_by_side(incomplete, lambda key: self._versions_page(key, {}))
        for key, page in pages.items():
            if isinstance(page, OSError):
                raise page
            by_key[key] = {version.id: version for name, version in page.entries if name == key}
        return {key: list(versions.values()) for key, versions in by_key.items() if versions}

    def delete(self, objects: Sequence[Object]) -> dict[Object, OSError]:
        """Errors by object. Without a version, an object gets a delete marker if the bucket has
        versions.
        """
        answers = self.side_by_side(_split(tuple(objects), KEYS_A_DELETION), self._delete)
        errors: dict[Object, OSError] = {}
        for batch, answer in answers.items():
            if isinstance(answer, OSError):
                answer = self._delete_singly(batch, answer)
            errors.update(answer)
        return errors

    def tags(self, key: str) -> dict[str, str]:
        answer = self._call("get_object_tagging", Key=key)
        return {tag["Key"]: tag["Value"] for tag in answer.get("TagSet", ())}

    def set_tags(self, key: str, tags: Mapping[str, str]) -> None:
        if not tags:
            self._call("delete_object_tagging", Key=key)
            return
        tag_set = [{"Key": name, "Value": value} for name, value in tags.items()]
        self._call("put_object_tagging", Key=key, Tagging={"TagSet": tag_set})

    def has_tags(self, key: str) -> bool:
        """Whether the store has tags: then a request for a missing key says that it is missing."""
        try:
            self.tags(key)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def versioning(self) -> str:
        return str(self._call("get_bucket_versioning").get("Status", ""))

    def keeps_versions(self, span: timedelta) -> bool:
        """Whether deleted objects stay as versions for ``span`` and can then be deleted."""
        status = self._call("get_bucket_versioning")
        if status.get("Status") != "Enabled" or status.get("MFADelete") == "Enabled":
            return False
        try:
            rules = self._call("get_bucket_lifecycle_configuration").get("Rules", ())
        except OSError:
            rules = ()
        days = [
            rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays")
            for rule in rules
            if rule.get("Status") == "Enabled"
        ]
        return not any(limit is not None and timedelta(days=limit) < span for limit in days)

    @staticmethod
    def side_by_side(keys: Sequence[Item], act: Callable[[Item], Any]) -> dict[Item, Any | OSError]:
        def attempt(key: Item) -> Any:
            try:
                return act(key)
            except OSError as error:
                return error

        if not keys:
            return {}
        with ThreadPoolExecutor(min(CONCURRENT_REQUESTS, len(keys))) as pool:
            return dict(zip(keys, pool.map(attempt, keys), strict=True))

    def _call(self, operation: str, **query: Any) -> Any:
        with as_os_error():
            return self._filesystem.call_s3(operation, Bucket=self.name, **query)

    def _delete(self, batch: Sequence[Object]) -> dict[Object, OSError]:
        refused = self._delete_batch(batch)
        for wait_s in WAITS_S:
            busy = [target for target, code in refused.items() if code.partition(":")[0] in BUSY]
            if not busy:
                break
            time.sleep(wait_s)
            refused = {target: why for target, why in refused.items() if target not in busy}
            refused |= self._delete_batch(busy)
        return {target: OSError(why) for target, why in refused.items()}

    def _delete_batch(self, batch: Sequence[Object]) -> dict[Object, str]:
        objects = [
            {"Key": key} if version is None else {"Key": key, "VersionId": version}
            for key, version in batch
        ]
        answer = self._call("delete_objects", Delete={"Objects": objects, "Quiet": True})
        errors_by_key: dict[str, list[Any]] = {}
        for error in answer.get("Errors", ()):
            errors_by_key.setdefault(error["Key"], []).append(error)
        return {
            (key, version): f"{error.get('Code')}: {error.get('Message')}"
            for key, version in batch
            for error in errors_by_key.get(key, ())
            if error.get("VersionId") in (None, "", version)
        }

    def _delete_singly(self, batch: Sequence[Object], error: OSError) -> dict[Object, OSError]:
        try:
            self._delete_one(batch[0])
        except OSError:
            return dict.fromkeys(batch, error)
        answers = self.side_by_side(batch[1:], self._delete_one)
        return {target: answer for target, answer in answers.items() if isinstance(answer, OSError)}

    def _delete_one(self, target: Object) -> None:
        key, version = target
        self._call("delete_object", Key=key, **({} if version is None else {"VersionId": version}))

    def _stats_page(self, prefix: str, query: Query) -> Page:
        answer = self._call("list_objects_v2", Prefix=prefix, MaxKeys=MOST_KEYS, **query)
        entries = [(row["Key"], _stat(row)) for row in answer.get("Contents", ())]
        if not answer.get("IsTruncated") or not entries:
            return Page(entries)
        end = entries[-1][0]
        return Page(entries, end, {"StartAfter": end})

    def _versions_page(self, prefix: str, query: Query) -> Page:
        # Both listings begin after the given key.
        query = {"KeyMarker": query["StartAfter"]} if "StartAfter" in query else query
        answer = self._call("list_object_versions", Prefix=prefix, MaxKeys=MOST_KEYS, **query)
        entries = [
            (
                row["Key"],
                Version(row["VersionId"], row["IsLatest"], stat(row), cut(modified_at(row))),
            )
            for name, stat in (("Versions", _stat), ("DeleteMarkers", lambda row: None))
            for row in answer.get(name, ())
        ]
        if not answer.get("IsTruncated") or not entries:
            return Page(entries)
        # The versions of the last key may continue on the next page.
        last = max(key for key, _ in entries)
        end = max((key for key, _ in entries if key != last), default="")
        markers = {name: answer[f"Next{name}"] for name in ("KeyMarker", "VersionIdMarker")}
        return Page(entries, end, markers)

    def _list(
        self, keys: Sequence[str], page: Callable[[str, Query], Page]
    ) -> list[tuple[str, Any]]:
        ordered = sorted(set(keys))
        if not ordered:
            return []
        prefix = _common_prefix(ordered[0], ordered[-1])
        entries, read_count = _walk(ordered, prefix, page, _PAGES_IN_A_ROW)
        unread = ordered[read_count:]
        if unread:
            slices = _split(unread, -(-len(unread) // CONCURRENT_REQUESTS))
            with ThreadPoolExecutor(len(slices)) as pool:
                for more_entries, _ in pool.map(lambda part: _walk(part, prefix, page), slices):
                    entries += more_entries
        return entries


def _split(items: Any, size: int) -> list[Any]:
    return [items[first : first + size] for first in range(0, len(items), size)]


def _walk(
    keys: Sequence[str], prefix: str, page: Callable[[str, Query], Page], limit: int | None = None
) -> tuple[list[tuple[str, Any]], int]:
    entries: list[tuple[str, Any]] = []
    read_count, pages, query = 0, 0, _query_from(keys[0])
    while read_count < len(keys) and (limit is None or pages < limit):
        result = page(prefix, query)
        pages += 1
        entries += result.entries
        if result.end is None or result.next_query is None:
            return entries, len(keys)
        reached = bisect_right(keys, result.end, read_count)
        next_query = (
            result.next_query
            if reached == read_count
            else _query_from(keys[min(reached, len(keys) - 1)])
        )
        if reached == read_count and next_query == query:
            raise OSError(f"the pages below {prefix} never end")
        read_count, query = reached, next_query
    return entries, read_count


def _common_prefix(first: str, last: str) -> str:
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((at for at, (char, other) in pairs if char != other), len(first))]


def _query_from(key: str) -> Query:
    last = f"{chr(ord(key[-1]) - 1)}~" if "!" < key[-1] <= "~" else ""
    return {"StartAfter": key[:-1] + last}


def _stat(row: Mapping[str, Any]) -> Stat:
    return Stat(int(row["Size"]), cut(modified_at(row)))
