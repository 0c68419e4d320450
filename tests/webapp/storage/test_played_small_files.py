"""storage.small_files on the checkpoint directory of a job whose states Flink wrote to files of
their own: listed, audited, judged.
"""

from datetime import timedelta

import pytest

from tests import played_trees
from tests.played_calls import calls_by_checkpoint
from tests.webapp.builders import job
from tests.webapp.storage.builders import audit, take_up
from webapp.findings.models import Finding
from webapp.storage import audit_findings

pytestmark = pytest.mark.django_db
VERSIONS = ("1.20.5", "2.3.0")
SMALL_BYTES, CHECKPOINT = 1 << 20, "/_metadata"


def judged(played, lease, weir, tmp_path, **fields):
    """What the rule says of the checkpoints that an incident left.

    ``fields``: of the job as Flink told it.
    """
    (job_id,) = {path.split("/")[0] for path, _size, _modified in played_trees.listed(played)}
    as_of = played_trees.newest(played) + timedelta(minutes=5)
    told = {"cluster": "lab", "job_id": job_id, "name": f"lab-{played.split('/')[1]}"}
    [audited] = played_trees.audited(
        played, tmp_path, [("final", as_of)], [told | {"terminal": False, "seen": True}]
    )
    of = audit("run-1", as_of=as_of, roots=[played_trees.root_uri(played)])
    take_up(lambda table: audited.rows(table, "run-1"))
    job(at=as_of, **told | {"flink_version": played.split("/")[0]} | fields)
    weir(lake_root=str(tmp_path / "audits" / "lake"))
    audit_findings.judge(of, lease, lambda _line: None)
    return list(Finding.objects.filter(rule="storage.small_files"))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_job_with_a_file_for_each_state_is_named_with_its_exact_counts(
    version, lease, weir, tmp_path
):
    played = f"{version}/small-files"
    listed = played_trees.listed(played)
    small = [
        size
        for path, size, _modified in listed
        if size <= SMALL_BYTES and not path.endswith(CHECKPOINT)
    ]
    [finding] = judged(played, lease, weir, tmp_path)
    assert (finding.job_id, finding.job_name, finding.severity) == (
        listed[0].path.split("/")[0],
        "lab-small-files",
        "info",
    )
    by_name = {one["name"]: one["value"] for one in finding.evidence}
    assert by_name["small files"] == len(small) > 1_000


@pytest.mark.parametrize("version", VERSIONS)
def test_a_job_of_few_small_files_at_a_short_interval_is_named_for_the_calls_that_flink_made(
    version, lease, weir, tmp_path
):
    """The newest checkpoint, call by call, and once more for each file that it deletes."""
    played = f"{version}/counted-small"
    (finding,) = judged(played, lease, weir, tmp_path, checkpoint_interval_ms=2_000)
    made = calls_by_checkpoint(played)
    last = made[max(checkpoint for checkpoint, of in made.items() if of["rename"])]
    calls = sum(last.values()) + last["create"] + 1
    by_name = {one["name"]: one for one in finding.evidence}
    assert by_name["name service"]["value"] == calls / 2 > by_name["name service"]["threshold"]
    assert finding.severity == "warning"
    assert f"One checkpoint costs {calls:,} calls" in finding.next_step


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_job_with_merged_files_is_not_named(version, lease, weir, tmp_path):
    assert (
        judged(f"{version}/counted-merged", lease, weir, tmp_path, checkpoint_interval_ms=2_000)
        == []
    )
