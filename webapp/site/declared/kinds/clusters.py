from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

from django.utils import timezone

from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import ENTERED
from webapp.fleet.registration import register
from webapp.fleet.sign_ins import SIGN_INS, needs_secret
from webapp.lib.refusals import InputRefused
from webapp.site.declared import secrets
from webapp.site.declared.kind import NAME, Entry, Kind, property_of
from webapp.site.removal import remove_clusters

STATED = (*ENTERED, "labels")


class Clusters(Kind):
    """Live clusters that no source of discovery found. ``labels`` say who owns a cluster, such as
    ``team``; alerts carry them.
    """

    name = "clusters"
    secret_columns = {sign_in.secret: sign_in.stored for sign_in in SIGN_INS}
    columns = frozenset({*STATED, *secret_columns.values()})
    required = ("name",)

    @cached_property
    def properties(self) -> dict[str, dict[str, Any]]:
        return {
            "name": {**NAME, "description": "it cannot be changed"},
            **{name: property_of(Cluster._meta.get_field(name)) for name in STATED},
            **dict.fromkeys(self.secret_columns, secrets.SCHEMA),
        }

    def rows(self) -> Any:
        return Cluster.objects.live().filter(found_by="").order_by("name")

    def entry(self, row: Cluster) -> Entry:
        return self.without_defaults({name: getattr(row, name) for name in ("name", *STATED)})

    def write(self, row: Any | None, entry: Entry, secrets: Mapping[str, str]) -> list[str]:
        name = entry["name"]
        cluster = cast("Cluster", row or Cluster(name=name))
        if row is None and (other := Cluster.objects.filter(name=name).first()):
            how = f"found by {other.found_by}" if other.found_by else f"a {other.kind}"
            raise InputRefused(f"There is a cluster {name} already, which is {how}.")
        for column in STATED:
            setattr(cluster, column, entry.get(column, self.properties[column].get("default")))
        for sign_in in SIGN_INS:
            secret = secrets.get(sign_in.secret, "")
            if needs_secret(getattr(cluster, sign_in.scheme)) and not secret:
                raise InputRefused(f"{sign_in.scheme} needs {sign_in.secret}.")
            sign_in.store(cluster, secret)
        cluster.kind = ClusterKind.LIVE
        if row is None:
            register(cluster)
        else:
            cluster.full_clean()
            cluster.save(update_fields=self.columns)
        return []

    def remove(self, row: Cluster) -> None:
        remove_clusters([row], timezone.now())
