import hashlib
import os
from collections import Counter
from itertools import count
from pathlib import Path

from django.db import transaction

from ingest.recordings.recording import bundle_at
from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import MAX_SHARD_SIZE

READ_AT_ONCE = 1 << 20


class AlreadyRegistered(Exception):
    pass


class Shards:
    """Assigns new clusters to shards that have room."""

    def __init__(self) -> None:
        self._sizes = Counter(Cluster.objects.collected().values_list("shard", flat=True))

    def take(self) -> int:
        shard = next(number for number in count() if self._sizes[number] < MAX_SHARD_SIZE)
        self._sizes[shard] += 1
        return shard


def register(cluster: Cluster) -> Cluster:
    """Raises ``ValidationError``."""
    cluster.full_clean()
    with transaction.atomic():
        cluster.shard = Shards().take()
        cluster.save()
    return cluster


def recording_cluster(name: str) -> Cluster:
    """The recording of this name, created if needed. Raises :class:`AlreadyRegistered` if a live
    cluster has the name.
    """
    registered = Cluster.objects.filter(name=name).first()
    if registered is None:
        cluster = Cluster(name=name, kind="recording", enabled=False)
        cluster.full_clean()
        cluster.save()
        return cluster
    if registered.kind != "recording":
        raise AlreadyRegistered(
            f"{name} is a live cluster; import the recording under another name."
        )
    return registered


def fingerprint(directory: Path) -> str:
    digest = hashlib.sha256()
    bundle = bundle_at(directory)
    for path in sorted((*bundle.rest_files, *bundle.log_files)):
        digest.update(os.fsencode(f"{path.relative_to(directory)}\0{path.stat().st_size}\0"))
        with bundle.open(path) as file:
            while chunk := file.read(READ_AT_ONCE):
                digest.update(chunk)
    return digest.hexdigest()
