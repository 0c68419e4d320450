"""Operator state by operator, on checkpoints that a real Flink left.

Of a job with a union list that restores multiplied, elements are recounted in the bytes of each
``_metadata``: behind the name of the list come its mode and how many offsets it has. Of a job with
all three modes they are compared with what Flink's own loader read.
"""

import gzip
import json
import re
import struct
import tarfile
from collections import Counter
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from django.core.cache import cache

from tests import played_trees
from tests.played import FOLDER
from tests.spark_jobs.storage.audits import Auditor
from tests.webapp.builders import job
from tests.webapp.storage.builders import audit, take_up
from webapp.analyses.document import Inputs
from webapp.analyses.registry import all_analyses
from webapp.fleet.models import JobCurrent
from webapp.storage.models import OperatorStateSize
from webapp.storage.operator_growth import operator_trends

pytestmark = pytest.mark.django_db
GROWING = ("1.20.5/growing-union", "2.3.0/growing-union")
LIST, UNION = b"known-to-all", 1
FIXTURES = Path(__file__).parents[2] / "fixtures"
MODES = FIXTURES / "recordings" / "1.20.5" / "L2" / "ckpt"
MODES_JOB = "27f57067e91d18234dff1b4537a44720"
READ_BY_FLINK = FIXTURES / "metadata" / "1.20.5-L2-27f570-chk-4.oracle.jsonl.gz"


def recounted(played):
    """Id of each checkpoint → elements of the union list by the bytes of its file, of each
    subtask.
    """
    found = {}
    with tarfile.open(FOLDER / played / "metadata.tar.gz") as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member).read()
            named = re.finditer(struct.pack(">H", len(LIST)) + LIST + bytes([UNION]), content)
            found[int(re.search(r"chk-(\d+)", member.name)[1])] = [
                struct.unpack_from(">i", content, one.end())[0] for one in named
            ]
    return found


def taken_up(audited, as_of, uri, weir, tmp_path):
    audit("run-1", as_of=as_of, roots=[uri])
    take_up(
        lambda table: [
            row | {name: json.loads(row[name]) for name in row.keys() & {"states"}}
            for row in audited.rows(table, "run-1")
        ]
    )
    weir(lake_root=str(tmp_path / "audits" / "lake"))


@pytest.mark.parametrize("played", GROWING)
def test_a_union_list_that_each_restore_multiplies_is_named_with_its_figures_in_every_checkpoint(
    played, weir, tmp_path
):
    cache.clear()
    (job_id,) = {path.split("/")[0] for path, _size, _modified in played_trees.listed(played)}
    as_of = played_trees.newest(played) + timedelta(minutes=5)
    told = {"cluster": "lab", "job_id": job_id, "name": "lab-union"}
    [audited] = played_trees.audited(
        played, tmp_path, [("final", as_of)], [told | {"terminal": False, "seen": True}]
    )
    job(at=as_of, **told | {"flink_version": played.split("/")[0]})
    taken_up(audited, as_of, played_trees.root_uri(played), weir, tmp_path)

    counted = recounted(played)
    (trend,) = operator_trends("lab", job_id)
    fragile = 4  # one element of another list of each subtask
    assert {
        one.checkpoint_id: (one.elements, one.union_elements, one.subtasks) for one in trend.points
    } == {checkpoint: (sum(of) + fragile, sum(of), len(of)) for checkpoint, of in counted.items()}
    sizes = [sum(of) for _checkpoint, of in sorted(counted.items())]
    restores = sum(after != before for before, after in pairwise(sizes))
    assert restores >= 3 and all(after in (before, 4 * before) for before, after in pairwise(sizes))

    found = all_analyses()["recovery"].answer(JobCurrent.objects.get(), Inputs(as_of, as_of, as_of))
    (table,) = [one for one in found.tables if one.key == "operator-state"]
    shown = dict(zip([one.key for one in table.columns], table.rows[0], strict=True))
    of_newest = (shown["elements"], shown["restores"], shown["handed_out"])
    assert of_newest == (sizes[-1] + fragile, restores, 4 * sizes[-1])
    assert found.verdict.tone == "warn"


def test_lists_of_all_modes_have_the_elements_that_flinks_own_loader_read_and_steady_ones_are_not_named(
    weir, tmp_path
):
    as_of = played_trees.newest(GROWING[0])
    uri = "file:/opt/l/lab/out/1.20.5/L2/ckpt"
    told = {"cluster": "lab", "job_id": MODES_JOB, "name": "lab-L2"}
    root = {"uri": uri, "read_at": str(MODES), "clusters": ["lab"], "attested": False}
    asked = {
        "audit_id": "run-1",
        "as_of": as_of,
        "age_guard_h": 72,
        "jobs": [told | {"terminal": False, "seen": True}],
        "roots": [root],
    }
    (tmp_path / "audits").mkdir()
    audited = Auditor(tmp_path / "audits").audit([asked])
    taken_up(audited, as_of, uri, weir, tmp_path)

    elements, sizes = Counter(), Counter()
    for row in map(json.loads, gzip.decompress(READ_BY_FLINK.read_bytes()).splitlines()):
        if row.get("kind") == "managed-op":
            sizes[row["operator_id"]] += row["size"]
            for mode, count in (state.split(":") for state in row["partitions"].values()):
                elements[row["operator_id"], mode] += int(count)
    rows = list(OperatorStateSize.objects.filter(checkpoint_id=4))
    assert len(rows) == 3
    for row in rows:
        of = row.operator_id
        modes = ("SPLIT_DISTRIBUTE", "UNION", "BROADCAST")
        assert row.elements == sum(elements[of, mode] for mode in modes)
        assert row.union_elements == elements[of, "UNION"]
        assert row.operator_bytes == sizes[of]
    assert {mode for _operator, mode in elements} == {"SPLIT_DISTRIBUTE", "UNION", "BROADCAST"}
