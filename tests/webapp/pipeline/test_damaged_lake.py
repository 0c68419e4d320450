"""A damaged table of the lake in front of people: commands, runs and the pipeline page say which,
without a traceback.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ingest.lake.store import Lake
from ingest.records import Checkpoint, Observed, Skip
from tests.ingest.recorded import RECORDINGS
from webapp.fleet.models import Cluster
from webapp.pipeline import due_work
from webapp.work import keys, registry
from webapp.work.models import DueWork, PipelineRun
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db(transaction=True)
AT = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
SAID = "Lake table checkpoints at"


@pytest.fixture(autouse=True)
def damaged(home: Path) -> Lake:
    lake = Lake(str(home / "lake"))
    for number in (1, 2):
        lake.append(
            [
                Observed(
                    "c",
                    AT,
                    "rest",
                    (Skip("s", "r", "d"), Checkpoint("a" * 32, number, AT, "COMPLETED")),
                )
            ]
        )
    entry = home / "lake" / "checkpoints" / "_delta_log" / f"{1:020d}.json"
    entry.write_bytes(entry.read_bytes()[:60])
    return lake


@pytest.mark.parametrize(
    "command",
    [["run_pipeline"], ["import_recording", str(RECORDINGS / "1.20.5" / "E"), "--cluster", "e"]],
)
def test_commands_name_the_table_and_the_file(command: list[str]) -> None:
    with pytest.raises(CommandError, match=rf"{SAID}.*_delta_log.*is damaged.*--from-start"):
        call_command(*command, verbosity=0)


def test_the_pipeline_page_names_the_table_and_other_tables_are_cared_for(
    viewer: Client, damaged: Lake
) -> None:
    Cluster.objects.create(name="c", url="http://127.0.0.1:1")
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    for key in (due_work.LAKE, keys.CYCLE):
        with pytest.raises(Exception, match=SAID):
            perform(key, even_if_not_due=True)
    page = viewer.get(reverse("pipeline"))
    assert page.status_code == 200
    assert page.content.decode().count(SAID) >= 2
    care = PipelineRun.objects.get(key=due_work.LAKE)
    assert "skips: 2 files merged" in care.log_tail
    assert "Traceback" not in care.log_tail
    assert viewer.get(reverse("pipeline-run", args=(care.pk,))).status_code == 200
