"""Who sees one cluster has Weir copy checkpoints: nothing of another cluster's is read, taken or
damaged, nor is told whose it is.

The owner of a job writes its ``_metadata``, which may name any path.
"""

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from spark_jobs.replication.round import replicate
from tests.attacks.inhabited import somebody
from tests.attacks.test_scopes import OURS, scoped
from tests.ingest.metadata import writing as w
from tests.webapp import builders
from webapp.accounts.roles import Role
from webapp.replication import work_keys
from webapp.replication.execution import request_of
from webapp.replication.models import Replica
from webapp.storage.models import StorageRoot
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db(transaction=True)
JOB, THEIRS = "0123456789abcdef0123456789abcdef", "f" * 32
SECRET = b"card numbers of theirs"


def checkpoint(folder: Path, number: int, needed: Path) -> Path:
    chk = folder / f"chk-{number}"
    chk.mkdir(parents=True)
    managed = w.partitionable(
        [("offsets", 1, [0])], w.file(needed.stat().st_size, f"file:{needed}")
    )
    operator = w.operator(6, [w.subtask(6, 0, managed=managed)], name="op")
    (chk / "_metadata").write_bytes(w.metadata(6, [operator], checkpoint=number))
    return chk


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """State of their job, in their root."""
    shared = tmp_path / "theirs" / THEIRS / "shared"
    shared.mkdir(parents=True)
    (shared / "state").write_bytes(SECRET)
    return shared / "state"


@pytest.fixture
def lured(tmp_path: Path, secret: Path) -> Path:
    """Where copies are asked to: our job, in our root, says that it needs the state of theirs."""
    now = timezone.now()
    for name, cluster in (("ours", OURS), ("theirs", "theirs")):
        root = StorageRoot.objects.create(uri=f"file:{tmp_path}/{name}")
        root.clusters.set([builders.cluster(cluster, at=now)])
    chk = checkpoint(tmp_path / "ours" / JOB, 7, secret)
    job = builders.job(OURS, at=now, job_id=JOB)
    builders.fact(job, 7, now, external_path=f"file:{chk}", is_savepoint=False)
    return tmp_path / "copies" / "ours"


def ask(client: Client, destination: str) -> str:
    answer = client.post(
        reverse("replication-ask", args=(OURS, JOB)),
        {"destination": destination, "every_s": "60"},
        follow=True,
    )
    assert answer.status_code == 200
    return str(answer.content.decode())


def signed_in(who: object) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(who)  # type: ignore[arg-type]
    return client


def copied(folder: Path) -> list[Path]:
    found = [
        path
        for path in folder.rglob("*")
        if path.is_file() and "_weir" not in path.relative_to(folder).parts
    ]
    return [path for path in found if SECRET in path.read_bytes()]


def test_what_lies_in_a_root_of_another_cluster_is_not_copied_and_the_copy_says_so(
    lured: Path,
) -> None:
    ask(signed_in(scoped(Role.ADMIN)), f"file:{lured}")
    with pytest.raises(Exception, match="is not copied"):
        perform(work_keys.key_of(Replica.objects.get()))
    row = Replica.objects.get()
    assert copied(lured) == []
    assert row.checkpoint_id is None and "1 of 1 files" in row.trouble


def test_the_reason_is_the_same_where_there_is_no_such_file_and_no_such_root(
    lured: Path, secret: Path
) -> None:
    ask(signed_in(scoped(Role.ADMIN)), f"file:{lured}")
    told = []
    for _ in ("there", "file gone", "root gone"):
        with pytest.raises(Exception, match="is not copied"):
            perform(work_keys.key_of(Replica.objects.get()), even_if_not_due=True)
        told.append(Replica.objects.get().trouble.partition(" (log: ")[0])
        if secret.exists():
            secret.unlink()
        else:
            StorageRoot.objects.filter(clusters__name="theirs").delete()
    assert len(set(told)) == 1


def test_who_sees_both_clusters_has_it_copied(lured: Path) -> None:
    ask(signed_in(somebody(Role.ADMIN)), f"file:{lured}")
    perform(work_keys.key_of(Replica.objects.get()))
    assert len(copied(lured)) == 1


def test_an_order_of_who_sees_more_reads_no_more_for_who_asked(lured: Path) -> None:
    ask(signed_in(scoped(Role.ADMIN)), f"file:{lured}")
    signed_in(somebody(Role.ADMIN)).post(
        reverse("replication-order", args=(OURS, JOB)), {"order": "now"}
    )
    with pytest.raises(Exception, match="is not copied"):
        perform(work_keys.key_of(Replica.objects.get()), even_if_not_due=True)
    assert copied(lured) == []


def replica_of_theirs(folder: Path, needed: Path) -> Replica:
    """Complete, of their checkpoint 3."""
    source = needed.parents[1]
    checkpoint(source, 3, needed)
    row = Replica.objects.create(
        name="theirs-1",
        cluster="theirs",
        job_id=THEIRS,
        source=f"file:{source}",
        destination=f"file:{folder}",
        every_s=60,
        created_at=timezone.now(),
    )
    assert replicate(request_of(row)).state == "complete"
    return row


TAKEN = (
    "copies/theirs",
    "copies/theirs/",
    "copies/x/../theirs",
    "copies/theirs/_weir/rounds/00000002",
    "copies",
    "theirs/x",
    "kept/y",
)


@pytest.mark.parametrize("place", TAKEN)
def test_a_place_that_is_taken_is_refused_and_nobody_is_told_whose_it_is(
    lured: Path, secret: Path, place: str
) -> None:
    replica_of_theirs(lured.parent / "theirs", secret)
    home = lured.parents[1]
    StorageRoot.objects.filter(clusters__name="theirs").update(quarantine_uri=f"file:{home}/kept")
    page = ask(signed_in(scoped(Role.ADMIN)), f"file:{home}/{place}")
    assert not Replica.objects.filter(cluster=OURS).exists()
    assert "That place is taken" in page
    assert THEIRS not in page and str(home / "theirs") not in page


@pytest.mark.parametrize("place", ["theirs", "theirs/_weir/rounds/00000002", ""])
def test_a_round_writes_nothing_where_an_earlier_copy_is_and_that_one_goes_on(
    lured: Path, secret: Path, place: str
) -> None:
    """The rows are of before this was refused, or two were asked for at one moment."""
    first = replica_of_theirs(lured.parent / "theirs", secret)
    there = {path for path in lured.parent.rglob("*") if path.is_file()}
    ask(signed_in(somebody(Role.ADMIN)), f"file:{lured}")
    written = f"file:{lured.parent / place}{'/' if place == 'theirs' else ''}"
    Replica.objects.filter(cluster=OURS).update(destination=written)
    ours = Replica.objects.get(cluster=OURS)
    with pytest.raises(Exception, match="is taken") as refusal:
        replicate(request_of(ours))
    assert THEIRS not in str(refusal.value)
    assert {path for path in lured.parent.rglob("*") if path.is_file()} == there
    checkpoint(secret.parents[1], 4, secret)
    assert replicate(request_of(first)).checkpoint_id == 4
