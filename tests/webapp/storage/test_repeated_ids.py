"""Applications with high availability all have jobs of the id 000…0: what audits read of the files of
one of them is not said of another.
"""

import pytest
from django.utils import timezone

from ingest.records import Observed
from tests.webapp.analyses.filesystem_calls.builders import metadata_of
from tests.webapp.builders import job
from tests.webapp.storage.builders import audit, job_storage, root, root_figures
from webapp.lib import scopes
from webapp.storage.fewer_files import newest_metadata
from webapp.work.lake import lake

pytestmark = pytest.mark.django_db
REPEATED, DRAWN = "0" * 32, "9e107d9d372bb6826bd81d3542a419d6"
READ_ROOT = "hdfs://nn1/flink"


@pytest.fixture(params=["nobody", "theirs"])
def read(request, home):
    """One ``_metadata`` of a job of this id, whose directory audits know to be of the param."""
    now = timezone.now()
    for name in ("ours", "theirs"):
        job(name, at=now, job_id=REPEATED, last_completed_path=None)
    lake().append([Observed("", now, "metadata", metadata_of(REPEATED))])
    made = audit(as_of=now, roots=[READ_ROOT])
    root(READ_ROOT)
    root_figures(made, READ_ROOT)
    writer = "" if request.param == "nobody" else request.param
    job_storage(made, REPEATED, READ_ROOT, cluster=writer)
    return writer


@pytest.mark.parametrize("scope", [scopes.EVERYTHING, scopes.OfClusters(["ours"])])
def test_a_metadata_of_another_application_is_not_said_to_be_ours(read, scope):
    with scopes.within(scope):
        assert newest_metadata("ours", REPEATED, timezone.now()) is None
    found = newest_metadata("theirs", REPEATED, timezone.now())
    assert (found is not None) == (read == "theirs")
