"""Commands: add_storage_root, audit_storage."""

import json
import os
import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ingest.storage.instants import CLOCK_SKEW
from tests.webapp.builders import T0, cluster, job
from tests.webapp.storage.builders import JOB, ROOT, file_row, root
from tests.webapp.storage.test_loading import ROW
from webapp.storage.models import StorageAudit, StorageRoot

pytestmark = pytest.mark.django_db


def lines(capsys, *arguments, **options):
    call_command(*arguments, **options)
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def code(*arguments) -> int:
    with pytest.raises(CommandError) as error:
        call_command(*arguments)
    return error.value.returncode


@pytest.fixture
def tree(tmp_path, spark):
    """A directory that nobody registered, and what Spark would say of it."""
    folder = tmp_path / "tree" / JOB / "shared"
    folder.mkdir(parents=True)
    (folder / "a").write_bytes(b"x" * 10)
    uri = f"file:{tmp_path / 'tree'}"
    spark.found = lambda audit_id: {
        "storage_root": [[ROW | {"audit_id": audit_id, "root": uri}]],
        "storage_file": [[file_row(f"{uri}/{n}", audit_id, root=uri) for n in range(3)]],
    }
    return uri


def test_a_root_is_registered_with_its_clusters_and_who_attests():
    cluster(at=T0)
    call_command(
        "add_storage_root", "s3a://bucket/flink/", "--cluster", "prod-eu", "--attest", "Olga"
    )
    row = StorageRoot.objects.get()
    assert (row.uri, row.attested_name, row.clusters.get().name) == (
        "s3://bucket/flink",
        "Olga (command line)",
        "prod-eu",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("s3://bucket/flink/below",),
        ("nonsense",),
        ("s3://x", "--cluster", "nobody"),
        ("s3n://bucket/flink",),
        ("s3p://bucket/flink",),
    ],
)
def test_what_makes_no_sense_is_refused_with_2_and_changes_nothing(arguments):
    root("s3://bucket/flink")
    assert code("add_storage_root", *arguments) == 2
    assert StorageRoot.objects.count() == 1


@pytest.mark.parametrize("unread", ["cosn://bucket-1250000000/flink", "viewfs://ns/flink"])
def test_a_root_that_no_client_reads_has_to_be_readable_elsewhere(unread):
    with pytest.raises(CommandError, match=f"no client that reads {unread.partition(':')[0]}://"):
        call_command("add_storage_root", unread)
    call_command("add_storage_root", unread, "--read-at", "s3p://copy/flink")
    row = StorageRoot.objects.get()
    assert (row.uri, row.read_at) == (unread, "s3://copy/flink")


@pytest.mark.parametrize(
    ("uri", "above"),
    [
        ("s3://bucket/_entropy_/ckpt", "s3://bucket,"),
        ("s3p://bucket/team/a-_entropy_-b/ckpt", "s3://bucket/team,"),
        ("s3a://bucket/__rnd__/ckpt", "s3://bucket,"),
    ],
)
def test_a_directory_that_flink_spreads_is_registered_by_the_one_above(uri, above):
    cluster(at=T0)
    job(at=T0, configuration={"s3.entropy.key": "__rnd__"})
    with pytest.raises(CommandError, match=f"Register {above} which holds all of them"):
        call_command("add_storage_root", uri)
    assert not StorageRoot.objects.exists()


@pytest.mark.parametrize("uri", ["s3://_entropy_/ckpt", "hdfs://ns/_entropy_/ckpt"])
def test_what_flink_does_not_spread_is_registered_as_it_is(uri):
    call_command("add_storage_root", uri)
    assert StorageRoot.objects.get().uri == uri


def test_an_option_of_another_command_attests_to_nothing():
    with pytest.raises(CommandError, match="--at"):
        call_command("add_storage_root", "hdfs://ns/flink", "--at", "webhdfs://nn:9870/flink")
    assert not StorageRoot.objects.exists()


def test_replacing_a_root_keeps_its_attestation(capsys):
    root("s3://bucket/flink", attested_at=T0, attested_name="Olga")
    call_command("add_storage_root", "s3://bucket/flink", "--read-at", "/mnt/flink", "--replace")
    row = StorageRoot.objects.get()
    assert (row.read_at, row.is_attested) == ("/mnt/flink", True)


def test_an_audit_of_a_root_nobody_registered_prints_figures_and_then_every_file(tree, capsys):
    told = lines(capsys, "audit_storage", tree, "--json")
    assert (told[0]["root"], told[0]["orphan"], told[0]["missing"]) == (
        tree,
        {"files": 1, "bytes": 1},
        {"files": 1, "bytes": 1},
    )
    assert [(line["path"], line["verdict"]) for line in told[1:]] == [
        (f"{tree}/{n}", "orphan") for n in range(3)
    ]
    assert not StorageRoot.objects.exists()


def test_without_json_it_is_told_in_words(tree, capsys):
    call_command("audit_storage", tree)
    out = capsys.readouterr().out
    assert "retained waste" in out
    assert "No plan can be made: Nobody has attested" in out


def test_a_copied_tree_is_audited_under_its_own_name(tree, capsys, tmp_path, spark):
    call_command(
        "audit_storage",
        "s3://bucket/flink",
        "--at",
        str(tmp_path / "tree"),
        "--as-of",
        "2026-11-21T05:00:00Z",
    )
    of = StorageAudit.objects.get()
    assert (of.roots, of.as_of.isoformat()) == (["s3://bucket/flink"], "2026-11-21T05:00:00+00:00")


def test_an_inventory_is_accepted_instead_of_a_listing(capsys, tmp_path, spark):
    inventory = tmp_path / "inventory.csv"
    inventory.write_text(f"path,bytes,modified\n{JOB}/shared/a,10,2026-11-21T04:00:00Z\n")
    call_command("audit_storage", "s3://bucket/flink", "--listing", str(inventory))
    assert "1 files" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ("s3://a", "s3://a/b"),
        ("s3://a", "s3://b", "--at", "/x"),
        ("s3://a", "--age-guard", "3"),
        ("s3://a", "--as-of", "soon"),
        (),
    ],
)
def test_an_audit_that_makes_no_sense_is_refused_with_2(arguments):
    assert code("audit_storage", *arguments) == 2
    assert not StorageAudit.objects.exists()


def test_an_audit_that_fails_ends_with_1(tree, spark, monkeypatch):
    monkeypatch.setattr(spark, "found", lambda audit_id: {"no_such_table": []})
    assert code("audit_storage", tree) == 1


def test_an_audit_of_the_future_is_refused_with_2_and_leaves_nothing(tree, spark):
    later = (timezone.now() + CLOCK_SKEW + timedelta(minutes=1)).isoformat()
    with pytest.raises(CommandError, match="cannot have begun in the future") as refusal:
        call_command("audit_storage", tree, "--as-of", later)
    assert (refusal.value.returncode, spark.commands) == (2, [])
    assert not StorageAudit.objects.exists()


def test_an_inventory_with_a_time_of_the_future_is_refused(tmp_path, spark):
    inventory = tmp_path / "inventory.csv"
    inventory.write_text(f"path,bytes,modified\n{JOB}/shared/a,10,2026-11-21T04:00:00Z\n")
    later = time.time() + 7200
    os.utime(inventory, (later, later))
    assert code("audit_storage", "s3://bucket/flink", "--listing", str(inventory)) == 2
    assert not spark.commands


def test_a_clock_that_is_a_little_ahead_is_borne_with(tree, spark):
    call_command("audit_storage", tree, "--as-of", (timezone.now() + CLOCK_SKEW / 2).isoformat())
    assert StorageAudit.objects.get().state == "loaded"


@pytest.mark.parametrize(
    "arguments",
    [
        ("add_storage_root", "{odd}"),
        ("add_storage_root", ROOT, "--read-at", "{odd}"),
        ("add_storage_root", ROOT, "--quarantine", "{odd}"),
        ("audit_storage", "{odd}"),
    ],
)
def test_a_name_that_is_not_utf8_is_refused(tmp_path, arguments):
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    with pytest.raises(CommandError, match="UTF-8") as error:
        call_command(*(word.format(odd=odd) for word in arguments))
    assert error.value.returncode == 2 and not StorageRoot.objects.exists()
