from datetime import datetime
from typing import Any

from webapp.fleet.badges import LOG_STORE_BADGES
from webapp.fleet.choices import LogStoreState
from webapp.fleet.models import Cluster

SHOWN = 50
_FIRST = (LogStoreState.FAILING, LogStoreState.BEHIND, LogStoreState.NEW, LogStoreState.READ)
_COLUMNS = (
    "name",
    "log_store_kind",
    "log_store_url",
    "log_store_read_from",
    "log_store_read_to",
    "log_store_error",
)


def log_stores(now: datetime) -> dict[str, Any]:
    """Problems first. One query."""
    stores = [
        (cluster.log_store_at(now), cluster)
        for cluster in Cluster.objects.collected().exclude(log_store_kind="").only(*_COLUMNS)
    ]
    stores.sort(key=lambda pair: (_FIRST.index(pair[0]), pair[1].name))
    rows = [(cluster, LOG_STORE_BADGES[state]) for state, cluster in stores[:SHOWN]]
    return {"log_stores": rows, "log_stores_more": max(0, len(stores) - SHOWN)}
