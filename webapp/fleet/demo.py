"""The demo: recordings replayed as live clusters. ``WEIR_HOME/demo`` holds their ports, ``looked``
(the last visit) and ``removed`` (by a person).
"""

import shutil
import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from ingest.replay.shipped import LOOKED, PREFIX, RECORDED_ON, REMOVED, SHIPPED
from webapp.fleet.models import Cluster, RemovedCluster
from webapp.fleet.models.cluster import ClusterQuerySet
from webapp.fleet.registration import register

LABEL, LABEL_VALUE = "demo", f"recorded {RECORDED_ON}"
LOOKED_AGAIN_AFTER_S = 60


def folder() -> Path:
    return Path(settings.WEIR.home) / "demo"


def clusters() -> ClusterQuerySet:
    demo_clusters: ClusterQuerySet = Cluster.objects.filter(
        name__startswith=PREFIX, labels__demo=LABEL_VALUE
    )
    return demo_clusters


def is_removed() -> bool:
    return (folder() / REMOVED).exists()


def watch() -> int:
    """Register the replayed clusters except removed ones; returns how many. Addresses change at
    each start, and time while Weir is stopped does not count as silence.
    """
    ports = (folder() / "ports").read_text().split()
    known = {cluster.name: cluster for cluster in clusters()}
    removed = set(
        RemovedCluster.objects.filter(name__startswith=PREFIX).values_list("name", flat=True)
    )
    taken = (
        set(Cluster.objects.filter(name__startswith=PREFIX).values_list("name", flat=True))
        - known.keys()
    )
    for port, name in zip(ports, (shipped.name for shipped in SHIPPED), strict=True):
        place = {
            "url": f"http://127.0.0.1:{port}/{name}",
            "log_globs": [str(folder() / name / "logs" / "*.log*")],
        }
        if name in known:
            Cluster.objects.filter(name=name).update(enabled=True, last_collected_at=None, **place)
        elif name not in removed | taken:
            known[name] = register(Cluster(name=name, labels={LABEL: LABEL_VALUE}, **place))
    look()
    return len(known)


def end() -> None:
    """Also in later runs; deletes logs and checkpoints."""
    folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder() / REMOVED).touch()
    for shipped in SHIPPED:
        shutil.rmtree(folder() / shipped.name, ignore_errors=True)


def pause() -> None:
    clusters().update(enabled=False)


def look() -> None:
    looked = folder() / LOOKED
    with suppress(OSError):
        if not looked.exists() or time.time() - looked.stat().st_mtime > LOOKED_AGAIN_AFTER_S:
            looked.touch()
