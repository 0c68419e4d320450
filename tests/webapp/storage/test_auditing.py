"""Audits from beginning to end, with a listing of a real tree and a file in Spark's place."""

import json
import shutil

import pytest
from django.utils import timezone

from spark_jobs.manifest import BadManifest
from tests.webapp.builders import T0, cluster, job
from tests.webapp.storage.builders import JOB, audit, root, write_run
from tests.webapp.storage.test_loading import ROW
from webapp.storage.auditing import audit_request, audit_run
from webapp.storage.choices import AuditPurpose, AuditState
from webapp.storage.models import RootFigures, StorageAudit
from webapp.work.models import PipelineRun
from webapp.work.runs import record_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def tree(tmp_path):
    """A directory with two files of a job."""
    folder = tmp_path / "tree" / JOB / "shared"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / name).write_bytes(b"x" * 10)
    return tmp_path / "tree"


def asked(*roots: audit_request.RequestedRoot, **fields) -> audit_request.AuditRequest:
    return audit_request.AuditRequest(roots, age_guard_h=72, purpose=AuditPurpose.COMMAND, **fields)


def run(what: audit_request.AuditRequest, lease) -> StorageAudit:
    with record_run(lease, "storage", lambda line: None) as record:
        return audit_run.audit(what, lease, record)


def found_of(uri: str):
    return lambda audit_id: {
        "storage_root": [[ROW | {"audit_id": audit_id, "root": uri, "as_of": timezone.now()}]]
    }


def request_of(home, of: StorageAudit) -> dict:
    return json.loads((home / "runs" / of.audit_id / "request.json").read_text())["audits"][0]


def test_an_audit_lists_asks_spark_and_loads(tree, home, spark, lease):
    spark.found = found_of(f"file:{tree}")
    of = run(asked(*audit_request.typed_roots([str(tree)], None)), lease)
    assert (of.state, RootFigures.objects.get().root) == (AuditState.LOADED, f"file:{tree}")
    assert (
        request_of(home, of)["roots"][0]["uri"],
        request_of(home, of)["roots"][0]["attested"],
    ) == (f"file:{tree}", False)
    assert "--previous" not in spark.commands[0]


def test_the_next_audit_carries_on_from_the_one_before(tree, spark, lease):
    spark.found = found_of(f"file:{tree}")
    what = asked(*audit_request.typed_roots([str(tree)], None))
    first, second = run(what, lease), run(what, lease)
    assert second.previous == first
    assert spark.commands[1][spark.commands[1].index("--previous") + 1] == first.manifest_path


def test_a_lost_audit_is_skipped_for_an_older_one_and_at_last_for_none(tree, home, spark, lease):
    spark.found = found_of(f"file:{tree}")
    what = asked(*audit_request.typed_roots([str(tree)], None))
    first, second = run(what, lease), run(what, lease)
    shutil.rmtree(home / "runs" / second.audit_id)
    third = run(what, lease)
    assert (third.state, third.previous) == (AuditState.LOADED, first)
    shutil.rmtree(home / "runs")
    fourth = run(what, lease)
    assert (fourth.state, fourth.previous) == (AuditState.LOADED, None)
    assert run(what, lease).previous == fourth


def test_with_a_lost_audit_attestations_end_since_vanished_referrers_are_forgotten(
    tree, home, spark, lease
):
    spark.found = found_of(f"file:{tree}")
    row = root(f"file:{tree}", attested_at=timezone.now(), attested_name="ada")
    first = run(asked(*audit_request.typed_roots([str(tree)], None)), lease)
    row.refresh_from_db()
    assert row.is_attested
    shutil.rmtree(home / "runs" / first.audit_id)
    second = run(asked(*audit_request.typed_roots([str(tree)], None)), lease)
    row.refresh_from_db()
    assert not row.is_attested
    assert "The attestation of ada" in PipelineRun.objects.get(pk=second.run_id).log_tail


def test_an_audit_that_fails_says_why_and_shows_nothing(tree, spark, lease):
    spark.found = lambda audit_id: {"no_such_table": []}
    with pytest.raises(BadManifest):
        run(asked(*audit_request.typed_roots([str(tree)], None)), lease)
    of = StorageAudit.objects.get()
    assert (of.state, RootFigures.objects.exists(), "no_such_table" in of.error) == (
        AuditState.FAILED,
        False,
        True,
    )
    assert PipelineRun.objects.get().state == PipelineRun.State.FAILED


def test_what_a_killed_process_left_complete_is_loaded_and_what_not_is_failed(
    tree, tmp_path, spark, lease
):
    spark.found = found_of(f"file:{tree}")
    path = write_run(
        tmp_path / "left", "storage-left", {"storage_root": [[ROW | {"audit_id": "storage-left"}]]}
    )
    complete = audit(
        "storage-left", state=AuditState.RUNNING, manifest_path=path, run_dir=str(tmp_path / "left")
    )
    torn = audit(
        "storage-torn",
        state=AuditState.RUNNING,
        manifest_path=str(tmp_path / "nothing/manifest.json"),
    )
    run(asked(*audit_request.typed_roots([str(tree)], None)), lease)
    complete.refresh_from_db()
    torn.refresh_from_db()
    assert (complete.state, torn.state) == (AuditState.LOADED, AuditState.FAILED)


def test_orphans_of_a_job_come_onto_the_fleet(tree, spark, lease):
    of = job(at=T0, job_id=JOB)
    uri = f"file:{tree}"
    counts = {
        name: value
        for name, value in ROW.items()
        if name.endswith(("_files", "_bytes")) and name not in ("metadata_files",)
    }
    row = counts | {
        "directory": f"{uri}/{JOB}",
        "root": uri,
        "cluster": of.cluster,
        "job_id": JOB,
        "job_name": "x",
        "terminal": False,
        "files": 2,
        "bytes": 20,
        "segmented_files": 0,
        "segmented_file_bytes": 0,
        "live_segment_bytes": 0,
        "small_files": 0,
        "foreign_files": 0,
        "foreign_bytes": 0,
        "checkpoints": 0,
        "newest_checkpoint_id": None,
        "newest_modified": None,
        "orphan_bytes": 77,
    }
    spark.found = lambda audit_id: {
        **found_of(uri)(audit_id),
        "storage_job": [[row | {"audit_id": audit_id}]],
    }
    run(asked(*audit_request.typed_roots([str(tree)], None)), lease)
    of.refresh_from_db()
    assert of.orphan_bytes == 77


def test_an_attestation_counts_only_where_the_audit_sees_every_registered_root(tree):
    attested = root(f"file:{tree}", attested_at=T0, attested_name="olga")
    assert audit_request.registered_roots([attested], [])[0].attested
    other = root("s3://other/tree")
    one = audit_request.registered_roots([attested], [])[0]
    assert (one.attested, "s3://other/tree" in one.withheld) == (False, True)
    assert audit_request.registered_roots([attested, other], [])[0].attested


def test_an_attestation_does_not_count_while_live_jobs_write_elsewhere(tree):
    attested = root(f"file:{tree}", attested_at=T0, attested_name="olga")
    cluster(at=timezone.now())
    job(at=timezone.now(), configuration={"state.checkpoints.dir": "s3a://elsewhere/flink"})
    one = audit_request.registered_roots([attested], [])[0]
    assert (one.attested, "s3://elsewhere/flink" in one.withheld) == (False, True)


def test_where_no_cluster_is_named_every_unreachable_one_may_write_there(tree):
    one = root(f"file:{tree}")
    assert audit_request.registered_roots([one], ["dark"])[0].unreachable == ("dark",)
    one.clusters.add(cluster("seen", at=timezone.now()))
    assert audit_request.registered_roots([one], ["dark"])[0].unreachable == ()


def test_a_copy_read_elsewhere_says_nothing_of_the_root_itself(tree):
    root(f"file:{tree}", attested_at=T0, attested_name="olga")
    assert not audit_request.typed_roots([f"file:{tree}"], "/mnt/copy")[0].attested
