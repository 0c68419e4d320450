"""storage.small_files on the checkpoint directory of a job whose states Flink wrote to files of their own: listed, audited, judged."""

import gzip
import json
import os
import tarfile
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.in_process.session import in_process_session
from tests.played import FOLDER
from tests.spark_jobs.storage.audits import Auditor
from tests.webapp.storage.builders import audit
from webapp.findings.models import Finding
from webapp.storage import audit_findings
from webapp.storage.table_models import AUDIT_MODELS

pytestmark = pytest.mark.django_db
PLAYED = FOLDER / "1.20.5" / "small-files"
SMALL_BYTES, CHECKPOINT = 1 << 20, "/_metadata"


def listed() -> list[tuple[str, int, float]]:
    """Path below the root, bytes and time of every file that Flink had left."""
    lines = gzip.decompress((PLAYED / "listing-final.tsv.gz").read_bytes()).decode().splitlines()
    return [(path, int(size), float(modified)) for path, size, modified in (line.split("\t") for line in lines)]


def lay_out(directory) -> None:
    """The directory again: real ``_metadata``, sparse files in place of the payload."""
    with tarfile.open(PLAYED / "metadata.tar.gz") as archive:
        archive.extractall(directory, filter="data")
    for path, size, modified in listed():
        file = directory / path
        if not path.endswith(CHECKPOINT):
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as out:
                out.truncate(size)
        os.utime(file, (modified, modified))


@pytest.fixture
def found(lease, tmp_path):
    root, directory = f"file:{json.loads((PLAYED / 'played.json').read_text())['root']}", tmp_path / "tree"
    lay_out(directory)
    (job_id,) = {path.split("/")[0] for path, _size, _modified in listed()}
    as_of = datetime.fromtimestamp(max(modified for _path, _size, modified in listed()), UTC) + timedelta(minutes=5)
    job = {"cluster": "lab", "job_id": job_id, "name": "lab-small-files", "terminal": False, "seen": True}
    asked = {
        "audit_id": "played", "as_of": as_of, "age_guard_h": 72, "jobs": [job],
        "roots": [{"uri": root, "read_at": str(directory), "clusters": ["lab"], "attested": False}],
    }  # fmt: skip
    (tmp_path / "audits").mkdir()
    with in_process_session() as session:
        audited = Auditor(session, tmp_path / "audits", in_process=True).audit([asked])
    of = audit("played", as_of=as_of, roots=[root])
    for table, model in AUDIT_MODELS.items():
        for row in audited.rows(table, "played"):
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
