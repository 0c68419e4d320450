"""The address of a checkpoint's page carries its trigger in milliseconds."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, fact, job
from webapp.lib.instants import epoch_ms

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("microsecond", [0, 499, 500, 501, 1500, 999_500, 999_999])
def test_every_instant_is_found_by_its_rounded_address(viewer, microsecond: int) -> None:
    now = timezone.now()
    cluster(at=now)
    of = job(at=now)
    triggered = (now - timedelta(minutes=1)).replace(microsecond=microsecond)
    fact(of, 7, triggered)
    address = reverse("checkpoint", args=(of.cluster, of.job_id, 7, epoch_ms(triggered)))
    assert viewer.get(address).status_code == 200


@pytest.mark.parametrize("digits", [20, 4_301, 60_000])
def test_a_number_of_any_length_is_looked_up_or_not_found(viewer, digits: int) -> None:
    """Python converts 4,300 digits at most."""
    of = job(at=timezone.now())
    address = reverse("checkpoint-go", args=(of.cluster, of.job_id))
    assert viewer.get(address, {"id": "9" * digits}).status_code == 404
