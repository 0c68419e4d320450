from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from django.utils import timezone

from webapp.fleet.models import Cluster
from webapp.lib.refusals import InputRefused
from webapp.site.declared.kind import Entry, Kind, property_of
from webapp.storage.auditing.work_keys import audit_now
from webapp.storage.models import StorageRoot
from webapp.storage.registration import ENTERED, parse_root, save


class StorageRoots(Kind):
    """What a person attests of a root is no part of it: a file cannot."""

    name = "storage_roots"
    columns = frozenset({"uri", *ENTERED})
    required = ("uri",)

    @cached_property
    def properties(self) -> dict[str, dict[str, Any]]:
        return {
            "uri": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1_000,
                "description": "as in Flink's configuration, such as s3://bucket/flink",
            },
            **{name: property_of(StorageRoot._meta.get_field(name)) for name in ENTERED},
            "clusters": {
                "type": "array",
                "items": {"type": "string"},
                "default": [],
                "description": str(StorageRoot._meta.get_field("clusters").help_text),
            },
        }

    def rows(self) -> Any:
        return StorageRoot.objects.prefetch_related("clusters").order_by("uri")

    def normalised(self, entry: Entry) -> Entry:
        root = parse_root(entry["uri"], entry.get("read_at", ""))
        clusters = sorted({*entry.get("clusters", ())})
        return entry | {"uri": root.uri, "read_at": root.read_at or "", "clusters": clusters}

    def entry(self, row: StorageRoot) -> Entry:
        columns = {name: getattr(row, name) for name in ("uri", *ENTERED)}
        clusters = sorted(cluster.name for cluster in row.clusters.all()) if row.pk else []
        return self.without_defaults({**columns, "clusters": clusters})

    def write(self, row: Any | None, entry: Entry, secrets: Mapping[str, str]) -> list[str]:
        root = cast("StorageRoot", row or StorageRoot(uri=entry["uri"]))
        names = entry.get("clusters", [])
        clusters = list(Cluster.objects.filter(name__in=names))
        if unknown := {*names} - {cluster.name for cluster in clusters}:
            raise InputRefused(f"Unknown clusters: {', '.join(sorted(unknown))}.")
        for column in ENTERED:
            setattr(root, column, entry.get(column, self.properties[column]["default"]))
        save(root, clusters)
        audit_now(timezone.now())
        return []
