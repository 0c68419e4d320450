"""Every command that the documentation names is run: most of them here, one after the other, as a
reader would.
"""

import contextlib
import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from ingest.__main__ import main as ingest
from ingest.replay.shipped import recordings
from tests.storage_trees import lay_out
from tests.webapp.builders import person, replica
from tests.webapp.documentation.commands import (
    INGEST,
    MANAGE,
    RUN_ELSEWHERE,
    elsewhere,
    named,
    words,
)
from tests.webapp.storage.builders import audit, root_figures
from tests.weir_settings import WeirSettings
from webapp.config.environment import PROJECT_DIR
from webapp.fleet.models import JobCurrent

RECORDING = recordings() / "1.20.5" / "E"


@pytest.fixture
def given(db: None, home: Path, weir: WeirSettings, tmp_path: Path) -> dict[str, str]:
    """What stands for the placeholders of the documentation; ids of jobs are put in as soon as
    there are any.
    """
    sources = tmp_path / "sources.yml"
    (tmp_path / "inventory.json").write_text('[{"targets": ["jobmanager.example.org:8081"]}]')
    sources.write_text(
        f"sources: [{{name: inventory, file_sd: {{files: [{tmp_path}/inventory.json]}}}}]"
    )
    weir(sources=str(sources))
    person("ada")
    person("prometheus")
    tree = lay_out("1.20.5-H", tmp_path / "tree")
    of = audit(roots=[f"file:{tree.directory}"])
    root_figures(of, f"file:{tree.directory}")
    return {
        "bundle": str(RECORDING),
        "report": str(tmp_path / "report"),
    }


@pytest.mark.django_db(transaction=True)
def test_commands_of_the_documentation_do_what_they_are_named_for(
    given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, failed = set(), {}
    for page, line in named():
        if elsewhere(line):
            continue
        if "JOB" not in given and (job := JobCurrent.objects.first()):
            given |= {"CLUSTER": job.cluster, "JOB": job.job_id}
            replica(job, timezone.now())
        command = words(line, given)
        said, errors = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
                if command[:2] == MANAGE:
                    call_command(*command[2:], stdout=said, stderr=errors)
                else:
                    assert command[:3] == INGEST and ingest(command[3:]) == 0, errors.getvalue()
        except (Exception, SystemExit) as error:
            failed[f"{page.name}: {line}"] = f"{type(error).__name__}: {error} {errors.getvalue()}"
        ran.add(line)
    assert failed == {}, "\n".join(f"{line}\n    {error}" for line, error in failed.items())
    assert len(ran) > 20


@pytest.mark.parametrize("begins", RUN_ELSEWHERE)
def test_what_is_not_run_here_is_named_and_run_by_the_test_that_is_declared(begins: str) -> None:
    assert any(elsewhere(line) == RUN_ELSEWHERE[begins] for _, line in named() if begins in line)
    text = (PROJECT_DIR / RUN_ELSEWHERE[begins]).read_text()
    word = {
        "make run": "`make run`",
        "make run DEMO=0": 'WEIR_DEMO="false"',
        "make docs": "mkdocs",
    }.get(begins, begins.split()[-1])
    assert word in text
