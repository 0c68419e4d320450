from django.urls import path

from webapp.accounts.guards import whole_fleet_only
from webapp.analyses.registry import all_analyses
from webapp.lib.menu import MenuEntry
from webapp.site.views import cluster, clusters, fleet

FLEET = MenuEntry(
    "Fleet",
    "fleet",
    of=("job", "checkpoint", "vertex", "replication", *all_analyses()),
    keeps_range=True,
)
CLUSTERS = MenuEntry("Clusters", "clusters", of=("cluster", "fleet-known-bugs"))

urlpatterns = [
    path("", fleet.fleet, name="fleet"),
    path("fleet.csv", fleet.export, name="fleet-export"),
    path("clusters/", clusters.clusters, name="clusters"),
    path("clusters/add/", whole_fleet_only(clusters.add), name="cluster-add"),
    path("demo/remove/", whole_fleet_only(clusters.remove_demo), name="demo-remove"),
    path("clusters/<name:name>/", cluster.page, name="cluster"),
    *(
        path(
            f"clusters/<name:name>/charts/{key}",
            cluster.chart,
            {"key": key},
            name=f"cluster-chart-{key}",
        )
        for key in ("taskmanagers", "failures")
    ),
    path("clusters/<name:name>/settings/", clusters.edit, name="cluster-edit"),
    path("clusters/<name:name>/test/", clusters.test, name="cluster-test"),
    path("clusters/<name:name>/pause/", clusters.pause, name="cluster-pause"),
    path("clusters/<name:name>/remove/", clusters.remove, name="cluster-remove"),
]
