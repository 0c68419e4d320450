from webapp.fleet.models import Cluster
from webapp.lib.list_pages import Control


def clusters_control() -> Control:
    names = Cluster.objects.values_list("name", flat=True)
    return Control("cluster", "Cluster", [("", "All clusters"), *((name, name) for name in names)])
