"""Copies of checkpoints that a real Flink wrote: how far they lie behind by its own times, and when
that is a finding.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT
from tests.first_cycles import CLUSTER, served_tables
from tests.played import FOLDER, answers
from tests.played_trees import lay_out, listed, newest, root_uri
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import Finding
from webapp.fleet.models import JobCurrent
from webapp.replication.findings import judge
from webapp.replication.models import Replica
from webapp.storage.models import StorageRoot

pytestmark = pytest.mark.django_db(transaction=True)


class Unleased:
    @contextmanager
    def writing(self) -> Iterator[None]:
        with transaction.atomic():
            yield


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_a_copy_of_flinks_newest_checkpoint_is_well_and_two_hours_later_it_is_not(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = f"{version}/growing-union"
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    jobs, facts = served_tables(FOLDER / played, tmp_path, JOB_CURRENT, CHECKPOINT_FACT)
    JobCurrent.objects.bulk_create(JobCurrent(**row) for row in jobs)
    CheckpointFact.objects.bulk_create(CheckpointFact(**row) for row in facts)
    lay_out(played, tree)
    StorageRoot.objects.create(uri=root_uri(played), read_at=str(tree))
    now = newest(played) + timedelta(seconds=5)
    monkeypatch.setattr(timezone, "now", lambda: now)
    job = JobCurrent.objects.get()
    out = StringIO()
    call_command("replicate", CLUSTER, job.job_id, str(copy), "--json", stdout=out)
    told = json.loads(out.getvalue())
    # Its log names some that REST was not asked for any more.
    number = max(
        int(found[1])
        for one in listed(played)
        if (found := re.search(r"/chk-(\d+)/_metadata$", one.path))
    )
    assert (told["state"], told["checkpoint_id"]) == ("complete", number)
    triggers = {
        one["id"]: one["trigger_timestamp"]
        for answer in answers(played, r"/jobs/[0-9a-f]{32}/checkpoints")
        for one in answer.body["history"]
    }
    fact = CheckpointFact.objects.get(checkpoint_id=number)
    assert number not in triggers or round(fact.trigger_time.timestamp() * 1000) == triggers[number]
    assert 0 < told["lag_ms"] < 900_000
    assert not Finding.objects.filter(rule="replication.lag")

    later = fact.trigger_time + timedelta(hours=2, seconds=1)
    judge(Replica.objects.get(), Unleased(), later)
    assert Finding.objects.open().get(rule="replication.lag").severity == "critical"
