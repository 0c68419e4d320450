"""One resource, followed as API servers mean it: listed once, then by what changed since the
version that was seen last.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ingest.discovery.kubernetes.api import Api, ApiFault
from ingest.errors import Skipped
from ingest.messages import message

PAGE = 250
MAX_OBJECTS = 20_000
"""Of one resource; of each only what is needed of it is kept."""
MAX_CHANGES = 50_000
WATCH_S = 2
"""How long the server keeps a watch open for changes that come now; those before come at once."""
WATCH_WITHIN_S = 4.0
LIST_AGAIN_S = 900
"""So that nothing that was missed stays for long."""

Kept = dict[str, Any]
Reader = Callable[[dict[str, Any]], Kept | None]
"""An object → what is kept of it, or None where it is none of ours."""


@dataclass(slots=True)
class Followed:
    """``objects`` are by uid, or by namespace and name where an object has none.

    ``version`` is "" before the first list.
    """

    path: str
    read: Reader
    parameters: dict[str, str] = field(default_factory=dict)
    version: str = ""
    objects: dict[str, Kept] = field(default_factory=dict)
    listed_at_s: float = 0
    not_before_s: float = 0
    """The server wants to be left alone until then (``Retry-After``)."""

    async def take(self, api: Api, now_s: Callable[[], float] = time.monotonic) -> None:
        """Raises ``ApiFault``, and keeps what it held."""
        if now_s() < self.not_before_s:
            raise ApiFault(
                message(
                    "{path:name} is not requested for {not_before_s:count} s, because the API "
                    "server asked Weir to wait",
                    path=self.path,
                    not_before_s=self.not_before_s - now_s(),
                ),
                429,
            )
        try:
            if self.version and now_s() - self.listed_at_s < LIST_AGAIN_S:
                try:
                    await self._changes(api)
                    return
                except ApiFault as fault:
                    # 200: what came cannot be read, so that nobody knows what is missing now. 400:
                    # no version of this server.
                    if fault.status not in (200, 400, 410):
                        raise
                    self.version = ""
            await self._list(api)
            self.listed_at_s = now_s()
        except ApiFault as fault:
            self.not_before_s = now_s() + fault.pause_s
            raise

    async def _list(self, api: Api) -> None:
        """All pages are of one version; where that was dropped meanwhile (410), they are read once
        more from the first.
        """
        try:
            resources, version = await self._pages(api)
        except ApiFault as fault:
            if fault.status != 410:
                raise
            resources, version = await self._pages(api)
        self.objects, self.version = resources, version

    async def _pages(self, api: Api) -> tuple[dict[str, Kept], str]:
        resources: dict[str, Kept] = {}
        asked, seen = {**self.parameters, "limit": str(PAGE)}, 0
        while True:
            page = await api.page(self.path, asked)
            seen += len(page["items"])
            if seen > MAX_OBJECTS:
                raise ApiFault(
                    message(
                        "{path:name} lists more than {max_objects:count} objects; narrow it by "
                        "'namespaces' or 'selector'",
                        path=self.path,
                        max_objects=MAX_OBJECTS,
                    ),
                    200,
                )
            for resource in page["items"]:
                self._put(resources, resource)
            more = page["metadata"].get("continue") or ""
            version = page["metadata"].get("resourceVersion") or ""
            if not isinstance(version, str) or not isinstance(more, str):
                raise ApiFault(message("{path:name} lists without a version", path=self.path), 200)
            if not more:
                return resources, version
            if more == asked.get("continue") or not page["items"]:
                raise ApiFault(
                    message("{path:name} returns the same page repeatedly", path=self.path), 200
                )
            asked["continue"] = more

    async def _changes(self, api: Api) -> None:
        asked = {
            **self.parameters,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version,
            "timeoutSeconds": str(WATCH_S),
        }
        taken = 0
        async for change in api.watch(self.path, asked, WATCH_WITHIN_S):
            taken += 1
            if taken > MAX_CHANGES:
                raise ApiFault(
                    message(
                        "{path:name} sends more than {max_changes:count} changes at a time",
                        path=self.path,
                        max_changes=MAX_CHANGES,
                    ),
                    200,
                )
            if change.type == "DELETED":
                self.objects.pop(_key(change.object), None)
            elif change.type in ("ADDED", "MODIFIED"):
                self._put(self.objects, change.object)
                if len(self.objects) > MAX_OBJECTS:
                    raise ApiFault(
                        message(
                            "{path:name} holds more than {max_objects:count} objects; narrow it by "
                            "'namespaces' or 'selector'",
                            path=self.path,
                            max_objects=MAX_OBJECTS,
                        ),
                        200,
                    )
            metadata = change.object.get("metadata")
            version = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
            if not isinstance(version, str) or not version:
                raise ApiFault(
                    message("{path:name} sends a change without a version", path=self.path), 200
                )
            self.version = version

    def _put(self, into: dict[str, Kept], resource: Any) -> None:
        key = _key(resource)
        try:
            kept = self.read(resource) if isinstance(resource, dict) else None
        except (
            Skipped,
            ValueError,
            TypeError,
            KeyError,
            AttributeError,
            RecursionError,
            OverflowError,
        ):
            kept = None
        if kept is None:
            into.pop(key, None)
        else:
            into[key] = kept


def _key(resource: Any) -> str:
    metadata = resource.get("metadata") if isinstance(resource, dict) else None
    if not isinstance(metadata, dict):
        return ""
    return str(metadata.get("uid") or f"{metadata.get('namespace')}/{metadata.get('name')}")[:300]
