from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client

from webapp.fleet.models import Cluster
from webapp.push.models import PushToken


@pytest.fixture
def cluster(home: Path, db: None) -> Cluster:
    cache.clear()
    return Cluster.objects.create(name="prod", logs_are_pushed=True)


@pytest.fixture
def shipper(cluster: Cluster) -> Client:
    _, text = PushToken.objects.issue(cluster, "fluent-bit")
    return Client(headers={"authorization": f"Bearer {text}"})
