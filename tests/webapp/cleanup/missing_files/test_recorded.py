"""The triage of a file that a real Flink missed, against listings and ``_metadata`` counted by
themselves.
"""

import tarfile
from datetime import UTC, datetime

import pytest
from django.urls import reverse
from django.utils.html import escape

from tests import played_trees
from tests.played import FOLDER, of_rule
from tests.webapp.cleanup.missing_files.conftest import AFTER, BEFORE, flink_jobs
from webapp.cleanup.missing_files.missing_file import triage

VERSIONS = ("1.20.5", "2.3.0")


def missed(version):
    *_, newest = of_rule(f"{version}/lost-file", "restore.missing_file")
    return newest["data"]["files"][0]["path"]


def naming(version, path):
    """``_metadata`` files in whose bytes the name of the file occurs, by their path below the
    root.
    """
    name = path.rpartition("/")[2].encode()
    with tarfile.open(FOLDER / version / "lost-file" / "metadata.tar.gz") as archive:
        return {member.name for member in archive if name in archive.extractfile(member).read()}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_file_is_found_in_every_source(version, lost_file, django_assert_max_num_queries):
    lost_file(version)
    path, root = missed(version), played_trees.root_uri(f"{version}/lost-file")
    with django_assert_max_num_queries(25):
        found = triage(path)
    before = {
        f"{root}/{file.path}": file for file in played_trees.listed(f"{version}/lost-file", BEFORE)
    }
    owner = next(
        job_id
        for job_id, (state, _ended) in flink_jobs(f"{version}/lost-file").items()
        if state == "CANCELED"
    )
    assert (found.path, found.place, found.root_uri, found.present) == (
        f"file:{path}",
        "shared",
        root,
        False,
    )
    assert (found.owner.job_id, found.owner.terminal, found.owner.state) == (
        owner,
        True,
        "CANCELED",
    )
    listed = before[f"file:{path}"]
    assert found.seen.bytes == listed.bytes
    assert found.seen.modified == datetime.fromtimestamp(listed.modified, UTC)
    assert found.seen.verdict == "live"
    assert {one.metadata_path for one in found.referrers} == {
        f"{root}/{name}" for name in naming(version, path)
    }
    assert found.gone_by > found.seen.as_of
    assert all(one.ended is False for one in found.in_danger)
    assert found.in_danger


@pytest.mark.parametrize("version", VERSIONS)
def test_the_rule_by_age_is_told_from_a_hand_and_from_flink(version, lost_file):
    lost_file(version)
    found = triage(missed(version))
    [cause] = found.causes
    assert (cause.key, cause.verdict) == ("age_rule", "likely")
    before, after = (played_trees.listed(f"{version}/lost-file", at) for at in (BEFORE, AFTER))
    own = [file for file in before if file.path.startswith(found.owner.job_id)]
    left = {file.path for file in after}
    gone = [file for file in own if file.path not in left]
    assert 0 < len(gone) < len(own)
    assert max(file.modified for file in gone) < min(
        file.modified for file in own if file.path in left
    )
    assert f"{len(gone)} of {len(own)} files of ended jobs went" in cause.because


def test_without_lists_of_files_the_newest_audit_still_says_who_lacks_it(lost_file):
    lost_file("1.20.5", listings=False)
    found = triage(missed("1.20.5"))
    assert found.seen is None
    assert {one.metadata_path for one in found.referrers}
    assert not {one.key for one in found.causes} & {"age_rule", "directory_removed"}
    assert "No audit of its root has kept its list of files." in found.unknown


def test_the_page_says_what_was_found(lost_file, viewer):
    lost_file("1.20.5")
    path = missed("1.20.5")
    told = f"java.io.FileNotFoundException: {path} (No such file or directory)"
    page = viewer.get(reverse("missing-file"), {"path": told}).content.decode()
    assert f"file:{path}" in page
    found = triage(path)
    assert escape(str(found.causes[0].because)) in page
    assert found.referrers[0].metadata_path in page


def test_what_names_no_file_is_refused(viewer):
    assert viewer.get(reverse("missing-file"), {"path": "nothing"}).status_code == 404
    assert viewer.get(reverse("missing-file")).status_code == 200
