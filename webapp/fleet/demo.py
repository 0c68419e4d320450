"""The demo: recordings that are replayed as live clusters. ``WEIR_HOME/demo`` contains their ports,
``looked`` (touched at visits) and ``removed`` (a person removed the demo).
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
VISIT_PRECISION_S = 60


def folder() -> Path:
    return Path(settings.WEIR.home) / "demo"


def clusters() -> ClusterQuerySet:
    demo_clusters: ClusterQuerySet = Cluster.objects.filter(
        name__startswith=PREFIX, labels__demo=LABEL_VALUE
    )
    return demo_clusters


def is_removed() -> bool:
    return (folder() / REMOVED).exists()


def register_clusters() -> int:
    """Register the replayed clusters except removed ones; returns how many. Their addresses change
    at each start. The time while Weir was stopped does not count as silence.
    """
    ports = (folder() / "ports").read_text().split()
    registered = {cluster.name: cluster for cluster in clusters()}
    removed = set(
        RemovedCluster.objects.filter(name__startswith=PREFIX).values_list("name", flat=True)
    )
    names = set(Cluster.objects.filter(name__startswith=PREFIX).values_list("name", flat=True))
    for port, name in zip(ports, (shipped.name for shipped in SHIPPED), strict=True):
        sources = {
            "url": f"http://127.0.0.1:{port}/{name}",
            "log_globs": [str(folder() / name / "logs" / "*.log*")],
        }
        if name in registered:
            Cluster.objects.filter(name=name).update(
                enabled=True, last_collected_at=None, **sources
            )
        elif name not in removed | names:
            registered[name] = register(Cluster(name=name, labels={LABEL: LABEL_VALUE}, **sources))
    note_visit()
    return len(registered)


def remove() -> None:
    """Delete logs and checkpoints; later starts do not replay the demo again."""
    folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder() / REMOVED).touch()
    for shipped in SHIPPED:
        shutil.rmtree(folder() / shipped.name, ignore_errors=True)


def pause() -> None:
    clusters().update(enabled=False)


def note_visit() -> None:
    """The replay rests while nobody looks."""
    looked = folder() / LOOKED
    with suppress(OSError):
        if not looked.exists() or time.time() - looked.stat().st_mtime > VISIT_PRECISION_S:
            looked.touch()
