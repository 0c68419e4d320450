"""The page of a vertex."""

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, job

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("vertex", "status"), [("v1", 200), ("v9", 404)])
def test_only_a_vertex_of_the_plan_has_a_page(viewer, vertex, status):
    at = timezone.now().replace(microsecond=0)
    cluster(at=at)
    of = job(at=at)
    address = reverse("vertex", args=(of.cluster, of.job_id, vertex))
    assert viewer.get(address).status_code == status
