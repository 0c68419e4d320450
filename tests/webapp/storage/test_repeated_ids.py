"""Applications with high availability all have jobs of the id 000…0: what audits read of the files of
one of them is not said of another.
"""

import pytest
from django.utils import timezone

from tests.webapp.storage.builders import ROOT, audit, root
from webapp.storage.models import ChainLink, OperatorStateSize, StorageAudit
from webapp.storage.operator_growth import operator_trends

pytestmark = pytest.mark.django_db
REPEATED, DRAWN = "0" * 32, "9e107d9d372bb6826bd81d3542a419d6"
READ_ROOT = "hdfs://nn1/flink"


def state_of(made: StorageAudit, cluster: str, job_id: str, number: int) -> None:
    row = dict.fromkeys(("operator_bytes", "union_elements"), 0)
    OperatorStateSize.objects.create(
        audit=made,
        metadata_path=f"{ROOT}/{cluster or 'app'}/{job_id}/chk-{number}/_metadata",
        operator_id="c" * 32,
        root=ROOT,
        cluster=cluster,
        job_id=job_id,
        checkpoint_id=number,
        is_savepoint=False,
        modified=made.as_of,
        subtasks=1,
        files=1,
        elements=1_000 * number,
        states=[],
        **row,
    )


@pytest.mark.parametrize(("job_id", "expected"), [(REPEATED, [5]), (DRAWN, [5, 7])])
def test_operator_state_of_nobody_is_that_of_a_job_where_its_id_was_drawn(job_id, expected):
    made = audit(as_of=timezone.now())
    state_of(made, "ours", job_id, 5)
    state_of(made, "", job_id, 7)
    (trend,) = operator_trends("ours", job_id)
    assert [point.checkpoint_id for point in trend.points] == expected


def test_what_another_application_was_restored_from_is_no_ancestor():
    made = audit(as_of=timezone.now())
    root()
    state_of(made, "ours", REPEATED, 5)
    state_of(made, "", DRAWN, 4)
    ChainLink.objects.create(
        audit=made,
        directory=f"{ROOT}/theirs/{REPEATED}",
        other_directory=f"{ROOT}/app/{DRAWN}",
        root=ROOT,
        job_id=REPEATED,
        other_job_id=DRAWN,
        kind="restored_from",
        files=0,
        bytes=0,
        checkpoints=0,
    )
    (trend,) = operator_trends("ours", REPEATED)
    assert [point.checkpoint_id for point in trend.points] == [5]
