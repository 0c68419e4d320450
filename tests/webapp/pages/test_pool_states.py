"""The table of pressure names what the buffers before and behind each vertex say together."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, job, window

pytestmark = pytest.mark.django_db


def test_each_vertex_has_its_state_and_a_transitional_one_is_called_so(viewer):
    at = timezone.now().replace(second=0, microsecond=0)
    cluster(at=at)
    of = job(at=at)
    start = at - timedelta(minutes=2)
    usages = {"v1": (None, 0.2), "v2": (0.2, 0.95), "v3": (0.95, 0.1), "v4": (0.1, None)}
    for vertex_id, (input, output) in usages.items():
        window(of, vertex_id, start, in_pool_p50=input, out_pool_p50=output, floating_p50=None)
    text = viewer.get(
        reverse("job", args=(of.cluster, of.job_id)), {"tab": "pressure"}
    ).content.decode()
    states = {
        vertex_id: text.split(f'<tr id="vertex-{vertex_id}">')[1]
        .split('<td class="medium">')[1]
        .split("</td>")[0]
        for vertex_id in usages
    }
    assert states == {
        "v1": "records flow",
        "v2": "transitional: its output is full, its input is not yet",
        "v3": "origin: its input is full, its output is not",
        "v4": "records flow",
    }
