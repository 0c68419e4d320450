"""storage.small_files on the checkpoint directory of a job whose states Flink wrote to files of their own: listed, audited, judged."""

from datetime import timedelta

import pytest

from tests import played_trees
from tests.webapp.storage.builders import audit
from webapp.findings.models import Finding
from webapp.storage import audit_findings
from webapp.storage.table_models import AUDIT_MODELS

pytestmark = pytest.mark.django_db
PLAYED = "1.20.5/small-files"
SMALL_BYTES, CHECKPOINT = 1 << 20, "/_metadata"


def listed():
    return played_trees.listed(PLAYED)


@pytest.fixture
def found(lease, tmp_path):
    (job_id,) = {path.split("/")[0] for path, _size, _modified in listed()}
    as_of = played_trees.newest(PLAYED) + timedelta(minutes=5)
    job = {"cluster": "lab", "job_id": job_id, "name": "lab-small-files", "terminal": False, "seen": True}
    [audited] = played_trees.audited(PLAYED, tmp_path, [("final", as_of)], [job])
    of = audit("run-1", as_of=as_of, roots=[played_trees.root_uri(PLAYED)])
    for table, model in AUDIT_MODELS.items():
        for row in audited.rows(table, "run-1"):
            model.objects.create(**row)
    audit_findings.judge(of, lease, lambda _line: None)
    return list(Finding.objects.filter(rule="storage.small_files"))


def test_the_job_with_a_file_for_each_state_is_named_with_its_exact_counts(found):
    small = [size for path, size, _modified in listed() if size <= SMALL_BYTES and not path.endswith(CHECKPOINT)]
    retained = [path for path, _size, _modified in listed() if path.endswith(CHECKPOINT)]
    [finding] = found
    assert (finding.job_id, finding.job_name, finding.severity) == (listed()[0][0].split("/")[0], "lab-small-files", "info")
    assert finding.data["small_files"] == len(small) > 1_000
    by_name = {one["name"]: one["value"] for one in finding.evidence}
    assert by_name["small files"] == len(small)
    assert by_name["retained checkpoints"] == len(retained)
    assert by_name["mean file size"] == pytest.approx(sum(size for _path, size, _modified in listed()) / len(listed()))
