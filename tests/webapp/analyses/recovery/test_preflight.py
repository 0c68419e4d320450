"""Snapshots that Flink wrote against jobs that it ran: a recorded chain of restores, whose outcome
is known.
"""

import gzip
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from ingest.metadata.files import MetadataFile
from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT
from tests.first_cycles import served_tables
from tests.ingest.metadata.summary import summarise
from tests.storage_trees import lay_out
from tests.webapp.analyses.recovery.snapshots import snapshot_in
from tests.webapp.builders import cluster, job, unsaved_fact
from tests.webapp.storage.builders import root
from webapp.analyses.recovery.preflight import preflight
from webapp.fleet.models import JobCurrent
from webapp.storage.models import StorageRoot

pytestmark = pytest.mark.django_db
METADATA = Path(__file__).parents[3] / "fixtures" / "metadata"
H = Path(__file__).parents[3] / "fixtures" / "recordings" / "1.20.5" / "H"
RESTORED = [
    ("lab-H-legacy-3", "6ced1911542b4d858e7f59a8856b8fb3/chk-9"),
    ("lab-H-legacy-4", "548495140bf08d40082122ae26fd5286/chk-12"),
    ("lab-H-default-3", "a543f50a31c05fe8abd08f0fe0ab98b2/chk-9"),
]
"""Jobs, and the checkpoint of another job that Flink restored each from."""
TAKEN = ("graph", "checkpoint_config", "configuration", "flink_version", "start_time", "job_id")


@pytest.fixture
def played(db, tmp_path) -> StorageRoot:
    """The jobs as Weir knows them, and their checkpoints with sparse files of the recorded sizes."""
    jobs, facts = served_tables(H, tmp_path / "served", JOB_CURRENT, CHECKPOINT_FACT)
    cluster("lab", at=jobs[0]["as_of"])
    for row in jobs:
        kept = {name: row[name] for name in TAKEN}
        of = job("lab", at=row["as_of"], name=row["name"], **kept)
        for fact in facts:
            if fact["job_id"] == of.job_id:
                about = {name: fact[name] for name in ("external_path", "discarded", "outcome")}
                unsaved_fact(of, fact["checkpoint_id"], fact["trigger_time"], **about).save()
    tree = lay_out("1.20.5-H", tmp_path / "H")
    return root(tree.root.uri, read_at=str(tree.directory))


def named(name: str, **changes) -> JobCurrent:
    of = JobCurrent.objects.get(name=name)
    for field, value in changes.items():
        setattr(of, field, value)
    return of


def without_enrich(of: JobCurrent) -> dict:
    kept = [vertex for vertex in of.graph["vertices"] if vertex["name"] != "enrich"]
    return {**of.graph, "vertices": kept}


def deciding(answer):
    outcome = answer.result.outcome
    return outcome, {one.check for one in answer.result.reasons if one.outcome == outcome}


@pytest.mark.parametrize(("name", "snapshot"), RESTORED)
def test_what_flink_restored_is_not_refused_and_restores_once_types_are_known(
    played, name, snapshot
):
    path = f"{played.uri}/ckpt/{snapshot}"
    assert deciding(preflight(named(name), path)) == ("unknown", {"types"})
    assert deciding(preflight(named(name), path, keeps_types=True))[0] == "restores"


def test_the_newest_snapshot_of_a_job_is_its_own(played):
    answer = preflight(named("lab-H-legacy-4"))
    assert (answer.took_it, answer.snapshot.checkpoint_id) == (True, 15)
    assert answer.result.outcome == "restores"
    assert answer.snapshot.files > 8


def test_a_redeployed_job_of_the_same_id_took_none_of_the_earlier_snapshots(played):
    of = JobCurrent.objects.get(name="lab-H-legacy-4")
    path = f"{played.uri}/ckpt/{of.job_id}/chk-15"
    JobCurrent.objects.filter(pk=of.pk).update(start_time=of.as_of)
    answer = preflight(named("lab-H-legacy-4"), path)
    assert (answer.took_it, deciding(answer)[0]) == (False, "unknown")


def test_a_missing_and_a_short_file_are_told_with_their_operator(played):
    shared = Path(played.read_at) / "ckpt" / "ac2c41988fce68b6424d587f991bd845" / "shared"
    for path in shared.iterdir():
        path.unlink()
    answer = preflight(named("lab-H-legacy-4"))
    assert deciding(answer) == ("refused", {"files"})
    assert [one.stored.name for one in answer.result.operators if one.stored.missing]


def test_files_of_a_root_that_is_gone_are_not_called_missing(played, tmp_path):
    of = named("lab-H-legacy-4")
    own = f"ckpt/{of.job_id}"
    StorageRoot.objects.all().delete()
    root(f"{played.uri}/{own}/chk-15", read_at=f"{played.read_at}/{own}/chk-15")
    assert deciding(preflight(of)) == ("unknown", {"files"})
    root(f"{played.uri}/{own}/shared", read_at=str(tmp_path / "unmounted"))
    assert deciding(preflight(of)) == ("unknown", {"files"})


def test_directories_of_other_jobs_that_it_needs_are_named(played):
    path = f"{played.uri}/ckpt/0e0a9226e66450b804703de8c16027eb/chk-11"
    assert preflight(named("lab-H-claim-3"), path).snapshot.foreign
    code, said = command(path, "--against", "lab", "lab-H-claim-3")
    assert (code, "which must stay" in said) == (1, True)


def test_an_operator_that_was_removed_is_dropped_only_if_all_operators_are_known(played):
    other = named("lab-H-default-3")
    path = f"{played.uri}/ckpt/a543f50a31c05fe8abd08f0fe0ab98b2/chk-9"
    # Its own checkpoint still has the operator.
    kept = preflight(named(other.name, graph=without_enrich(other)), path, keeps_types=True)
    assert deciding(kept)[0] == "restores"
    # Without any of its own, the operator may be within a chain.
    unread = named(other.name, graph=without_enrich(other), job_id="f" * 32)
    assert deciding(preflight(unread, path, keeps_types=True)) == ("unknown", {"operators"})


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"parallelism": 129}, ("refused", {"parallelism"})),
        ({"max_parallelism": 256}, ("unknown", {"parallelism"})),
        ({"parallelism": 128}, ("restores", None)),
    ],
)
def test_the_maximum_parallelism_of_the_state_is_a_limit(played, changes, outcome):
    of = named("lab-H-default-3")
    for vertex in of.graph["vertices"]:
        if vertex["name"] == "enrich":
            vertex.update(changes)
    path = f"{played.uri}/ckpt/a543f50a31c05fe8abd08f0fe0ab98b2/chk-9"
    found = deciding(preflight(of, path, keeps_types=True))
    assert found[0] == outcome[0]
    assert outcome[1] in (None, found[1])


@pytest.mark.parametrize("path", ["file:/etc", "file:/opt/l/lab/run/1.20.5-H/ckpt/none", "x\ty"])
def test_what_cannot_be_read_is_not_known(played, path):
    answer = preflight(named("lab-H-1"), path)
    assert answer.why
    assert answer.result is None


def command(*given: str) -> tuple[int, str]:
    out = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("preflight", *given, stdout=out)
    return ended.value.code, out.getvalue()


def test_the_command_ends_with_what_a_gate_needs(played):
    path = f"{played.uri}/ckpt/a543f50a31c05fe8abd08f0fe0ab98b2/chk-9"
    against = ("--against", "lab", "lab-H-default-3")
    code, said = command(path, *against)
    assert (code, "--types-unchanged" in said) == (2, True)
    code, said = command(path, *against, "--types-unchanged", "--json")
    assert (code, json.loads(said)["verdict"]["tone"]) == (0, "ok")
    of = named("lab-H-default-3")
    config = {**of.checkpoint_config, "state_backend": "HashMapStateBackend"}
    JobCurrent.objects.filter(pk=of.pk).update(checkpoint_config=config)
    code, said = command(path, *against, "--types-unchanged")
    assert (code, "HashMap" in said) == (1, True)
    with pytest.raises(CommandError, match="no job"):
        call_command("preflight", path, "--against", "lab", "nobody")


def test_the_api_takes_the_snapshot_as_a_parameter(viewer, played):
    of = named("lab-H-default-3")
    path = f"{played.uri}/ckpt/a543f50a31c05fe8abd08f0fe0ab98b2/chk-9"
    address = reverse("api-job-analysis-preflight", args=[of.cluster, of.job_id])
    answer = viewer.get(address, {"snapshot": path, "types": "unchanged"}).json()
    assert answer["verdict"]["tone"] == "ok"


def test_operators_of_every_format_have_the_state_that_the_reader_counts(tmp_path):
    """Bytes of Flink 1.12 to 2.3."""
    recorded = sorted(METADATA.glob("[12]*.metadata.gz"))
    for path in recorded:
        (tmp_path / "_metadata").write_bytes(gzip.decompress(path.read_bytes()))
        file = MetadataFile(str(tmp_path / "_metadata"), (tmp_path / "_metadata").stat().st_size)
        summary = summarise(file.pieces(), file.directory)
        snapshot = snapshot_in(file)
        found = sum(operator.state_bytes for operator in snapshot.operators)
        assert (found, len(snapshot.operators)) == (
            summary.state_bytes,
            len(summary.operators),
        ), path.name
        assert snapshot.is_canonical == (snapshot.savepoint_format == "CANONICAL") or (
            snapshot.format_version == 3
        )
        # Nothing here lies below a registered root: then it is not known whether it is there.
        assert bool(snapshot.unchecked) == bool(snapshot.files), path.name
    assert len(recorded) > 40
