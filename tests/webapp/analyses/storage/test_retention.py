"""What roots keep: recorded trees, some of them audited so late that everything in them is old;
figures recounted in their listings.
"""

import json
import tarfile
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from spark_jobs.diagnosis import registry
from tests import played_trees
from tests.played import FOLDER
from tests.spark_jobs.storage.audits import Auditor
from tests.spark_jobs.storage.recorded_jobs import recorded_jobs
from tests.storage_trees import lay_out
from tests.webapp.analyses.answers import tables_of
from tests.webapp.builders import job

# fixtures
from tests.webapp.cleanup.missing_files.conftest import AFTER, lost_file, played_audits  # noqa: F401
from tests.webapp.storage.builders import (
    ROOT,
    audit,
    chain,
    checkpoint_storage,
    job_storage,
    root_figures,
    take_up,
)
from webapp.analyses.storage.root_retention import root_retention
from webapp.lib.quantities import duration_text
from webapp.storage.models import RootFigures
from webapp.storage.samples import root_samples

pytestmark = pytest.mark.django_db
RULE = "storage.idle_snapshots"
SAVEPOINTS = "1.20.5-G"


@pytest.fixture(scope="module")
def aged(tmp_path_factory):
    """A tree with savepoints, audited 5 and 40 days after its last file was written."""
    folder = tmp_path_factory.mktemp("aged")
    tree = lay_out(SAVEPOINTS, folder / "tree")
    root = {
        "uri": tree.root.uri,
        "read_at": tree.root.read_at,
        "clusters": ["lab"],
        "attested": False,
    }
    times = [tree.newest + timedelta(days=days) for days in (5, 40)]
    auditor = Auditor(folder)
    asked = [
        {
            "audit_id": f"run-{number}",
            "as_of": at,
            "age_guard_h": 72,
            "roots": [root],
            "jobs": recorded_jobs(tree),
        }
        for number, at in enumerate(times, 1)
    ]
    return tree, times, [auditor.audit([one]) for one in asked]


def loaded(aged, number):
    tree, times, audits = aged
    of = audit(f"run-{number}", as_of=times[number - 1], roots=[tree.root.uri])
    take_up(lambda table: audits[number - 1].rows(table, f"run-{number}"))
    return RootFigures.objects.get(audit=of)


def judged(figures):
    (sample,) = root_samples(figures.audit, [figures])
    return registry.diagnose(sample, registry.limits(), only=[RULE]).findings


def test_savepoints_are_told_by_age_and_size_as_the_listing_has_them(aged):
    tree = aged[0]
    figures = loaded(aged, 2)
    found = root_retention(figures)
    folders = {
        file.path.rpartition("/")[0] for file in tree.files if "/savepoint-" in f"/{file.path}"
    }
    assert {one.path for one in found.savepoints} == {
        tree.uri(f"{folder}/_metadata") for folder in folders
    }
    for one in found.savepoints:
        inside = [
            file
            for file in tree.files
            if tree.uri(file.path).startswith(one.path.removesuffix("_metadata"))
        ]
        (own,) = [file for file in inside if file.path.endswith("/_metadata")]
        assert one.written == datetime.fromtimestamp(own.modified, UTC)
        assert one.age_ms == pytest.approx((figures.as_of.timestamp() - own.modified) * 1000)
        assert one.bytes == sum(file.bytes for file in inside if file is not own)


def test_after_forty_days_they_are_found_and_after_five_they_are_not(aged):
    (finding,) = judged(loaded(aged, 2))
    found = root_retention(RootFigures.objects.get())
    idle = [one.bytes for one in found.savepoints if one.standing in ("superseded", "last")]
    left = [one.bytes for one in found.ended if one.standing != "needed"]
    assert f"{len(idle)} savepoint" in finding.title and f"{len(left)} ended job" in finding.title
    assert idle
    assert finding.evidence[0].value == sum(idle) + sum(left)


def test_after_five_days_nobody_is_told(aged):
    assert judged(loaded(aged, 1)) == ()


def test_a_savepoint_that_a_running_job_came_from_is_needed_and_left_out(aged):
    figures = loaded(aged, 2)
    (before,) = judged(figures)
    first = root_retention(figures).savepoints[0]
    directory = first.path.removesuffix("/_metadata").replace("file:/", "file:///")
    job("lab", at=figures.as_of, job_id="f" * 32, terminal=False, restored_path=directory)
    (found, *_) = root_retention(figures).savepoints
    assert (found.standing, found.needed_by) == ("needed", ("f" * 32,))
    after = judged(figures)
    assert sum(one.data["savepoints"] for one in after) == before.data["savepoints"] - 1


def test_the_oldest_file_of_the_running_job_is_that_of_its_metadata(lost_file):  # noqa: F811
    lost_file("2.3.0")
    played = "2.3.0/lost-file"
    found = root_retention(RootFigures.objects.order_by("-as_of").first())
    (running,) = found.running
    with tarfile.open(FOLDER / played / "metadata.tar.gz") as archive:
        names = [member.name for member in archive if member.name.startswith(running.job_id)]
        content = b"".join(archive.extractfile(name).read() for name in names)
    needed = [
        file
        for file in played_trees.listed(played, AFTER)
        if file.path.rpartition("/")[2].encode() in content
    ]
    assert running.oldest_file == datetime.fromtimestamp(min(file.modified for file in needed), UTC)
    assert found.unsafe_age_ms == running.oldest_file_age_ms
    assert running.retained_on_cancellation
    (ended,) = found.ended
    assert ended.needed_by == (running.job_id,)


def test_page_api_and_command_say_the_same(lost_file, viewer):  # noqa: F811
    lost_file("2.3.0")
    root = played_trees.root_uri("2.3.0/lost-file")
    page = viewer.get(reverse("storage-retention"), {"uri": root}).content.decode()
    api = viewer.get(reverse("api-storage-analysis-retention"), {"root": root}).json()
    out, printed = StringIO(), StringIO()
    call_command("analyse", root, "retention", "--json", stdout=out)
    assert json.loads(out.getvalue()) == api
    call_command("analyse", root, "retention", stdout=printed)
    (running,), (ended,) = (tables_of(api)[name]["rows"] for name in ("running", "ended"))
    assert api["verdict"]["tone"] == "warn"
    for text in (
        api["verdict"]["sentence"],
        ended["job_id"],
        duration_text(running["oldest_file_age_ms"]),
    ):
        assert text in page and text in printed.getvalue()
    assert duration_text(running["oldest_file_age_ms"]) in api["verdict"]["sentence"]


def test_ended_jobs_say_how_they_ended_and_who_needs_them(django_assert_max_num_queries):
    figures = root_figures(audit())
    of, ended, by = figures.audit, "a" * 32, "b" * 32
    job_storage(
        of,
        ended,
        terminal=True,
        live_files=3,
        live_bytes=300,
        newest_modified=figures.as_of - timedelta(days=2),
    )
    job_storage(of, by, terminal=False)
    checkpoint_storage(of, 7, by)
    job("prod-eu", at=figures.as_of, job_id=ended, state="FAILED", terminal=True)
    config = {"retained_on_cancellation": False}
    job(
        "prod-eu",
        at=figures.as_of,
        job_id=by,
        terminal=False,
        checkpoint_config=config,
        configuration={"state.checkpoints.num-retained": "3"},
    )
    chain(of, by, ended)
    with django_assert_max_num_queries(10):
        found = root_retention(figures)
    (one,) = found.ended
    assert (one.state, one.needed_by, one.standing, one.idle_ms) == (
        "FAILED",
        (by,),
        "needed",
        2 * 86_400_000,
    )
    (running,) = found.running
    assert (running.retained_on_cancellation, running.retained, running.oldest_file) == (
        False,
        3,
        None,
    )
    assert found.unknown


def test_a_root_that_no_audit_has_seen_is_not_there(viewer):
    assert viewer.get(reverse("storage-retention"), {"uri": ROOT}).status_code == 404
    assert viewer.get(reverse("api-storage-analysis-retention"), {"root": ROOT}).status_code == 404
