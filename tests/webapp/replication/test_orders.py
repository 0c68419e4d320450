"""A copy that is asked for on the page of a job: by whom, to where, and what may be ordered of
it.
"""

import random
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.spark_jobs.replication.worlds import JOB, World, copies
from tests.webapp import builders
from webapp.accounts.roles import Role
from webapp.replication import work_keys
from webapp.replication.models import Replica
from webapp.storage.models import StorageRoot
from webapp.work.models import DueWork
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db(transaction=True)
AT = ("prod-eu", JOB)


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A job whose newest checkpoint lies below a registered root."""
    world, now = World(tmp_path / "world", random.Random(2)), timezone.now()
    builders.cluster("prod-eu", at=now)
    of = builders.job("prod-eu", at=now, job_id=JOB)
    number = world.checkpoint()
    builders.fact(
        of, number, now, external_path=f"file:{world.root}/{JOB}/chk-{number}", is_savepoint=False
    )
    StorageRoot.objects.create(uri=f"file:{world.root}")
    return world


@pytest.fixture
def administrator(db: None) -> Client:
    client = Client()
    ada = builders.person("ada")
    ada.groups.add(Group.objects.get_or_create(name=Role.ADMIN.group)[0])
    client.force_login(ada)
    return client


def ask(client: Client, destination: str, every_s: str = "60") -> str:
    """The page that follows."""
    answer = client.post(
        reverse("replication-ask", args=AT),
        {"destination": destination, "every_s": every_s},
        follow=True,
    )
    return str(answer.content.decode())


def order(client: Client, what: str) -> str:
    return str(
        client.post(
            reverse("replication-order", args=AT), {"order": what}, follow=True
        ).content.decode()
    )


def test_an_administrator_asks_for_a_copy_a_worker_makes_it_and_the_page_says_so(
    world: World, administrator: Client, tmp_path: Path
) -> None:
    page = ask(administrator, f"file:{tmp_path}/copy")
    assert "The copy is requested; a worker begins within a minute." in page
    replica = Replica.objects.get()
    assert (replica.created_name, replica.changed_name, replica.every_s) == ("ada", "ada", 60)
    assert DueWork.objects.filter(key=work_keys.key_of(replica)).exists()
    perform(work_keys.key_of(replica))
    assert copies(tmp_path / "copy")
    page = administrator.get(reverse("replication", args=AT)).content.decode()
    assert "● complete" in page
    assert "Bring it up to date now" in page


def test_a_copy_is_stopped_and_resumed_by_name(
    world: World, administrator: Client, operator: Client, tmp_path: Path
) -> None:
    ask(administrator, f"file:{tmp_path}/copy")
    assert "is no longer kept up to date" in order(operator, "stop")
    replica = Replica.objects.get()
    assert (replica.enabled, replica.changed_name) == (False, "olga")
    assert "resume it first" in order(operator, "now")
    assert "There is no such order." in order(operator, "delete")
    order(operator, "resume")
    replica.refresh_from_db()
    assert replica.enabled


@pytest.mark.parametrize(
    "destination",
    [
        "/etc/cron.d",
        "file:/tmp/copy",
        "http://169.254.169.254/latest",
        "webhdfs://10.0.0.1:9870/x",
        "s3://other/x",
        "relative",
    ],
)
def test_an_operator_makes_workers_write_nowhere_but_on_the_storages_of_roots(
    world: World, operator: Client, destination: str
) -> None:
    StorageRoot.objects.create(uri="s3://bucket/flink")
    ask(operator, destination)
    assert not Replica.objects.exists()


def test_an_operator_may_use_the_bucket_of_a_root(world: World, operator: Client) -> None:
    StorageRoot.objects.create(uri="s3://bucket/flink")
    ask(operator, "s3://bucket/copies")
    assert Replica.objects.get().created_name == "olga"


def test_destinations_in_roots_and_odd_paces_are_refused_with_the_reason(
    world: World, administrator: Client
) -> None:
    assert "That place is taken" in ask(administrator, f"file:{world.root}/copy")
    assert "Give 15 to 604,800 seconds." in ask(
        administrator, "file:/tmp/copy-of-orders", every_s="1"
    )
    assert "Name a directory as Flink reads it" in ask(
        administrator, "file:/tmp/copy-of-orders", every_s="soon"
    )
    assert not Replica.objects.exists()


def test_viewers_see_how_to_ask_and_have_no_button(world: World, viewer: Client) -> None:
    page = viewer.get(reverse("replication", args=AT)).content.decode()
    assert "manage.py replicate prod-eu" in page
    assert "<form" not in page.partition('id="replication-tables"')[2].partition("</section>")[0]
    for name in ("replication-ask", "replication-order"):
        assert viewer.post(reverse(name, args=AT)).status_code == 403
