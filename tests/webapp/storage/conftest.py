"""Leases and Spark for tests of audits: nothing but a file is written in Spark's place."""

from pathlib import Path

import pytest
from django.utils import timezone

from tests.webapp.storage.builders import write_run
from webapp.work import spark_job
from webapp.work.lease import Lease
from webapp.work.models import DueWork


@pytest.fixture
def lease(db) -> Lease:
    DueWork.objects.ensure({"storage/audit": 3600}, timezone.now())
    claimed = DueWork.objects.claim("storage/audit", timezone.now())
    assert claimed is not None
    return claimed


@pytest.fixture
def spark(home, monkeypatch):
    """What the next Spark jobs find: ``found(audit_id)`` gives table → parts → rows.

    ``commands`` is what was asked.
    """

    class Spark:
        commands: list[list[str]] = []

        def found(self, audit_id: str):
            return {}

        def run(self, arguments, record, name):
            self.commands.append(list(arguments))
            if (
                "--previous" in arguments
                and not Path(arguments[arguments.index("--previous") + 1]).exists()
            ):
                raise spark_job.PreviousLost("There is no manifest.")
            run_dir = home / "runs" / name
            write_run(run_dir, name, self.found(name))

    one = Spark()
    one.commands = []
    monkeypatch.setattr(spark_job, "run", one.run)
    return one
