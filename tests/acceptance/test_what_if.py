"""A what-if that changes nothing says what the cycle said, of every shipped recording."""

import json
import subprocess
import sys

import pytest

from tests.acceptance.homes import ROOT, Instance


@pytest.mark.long
def test_unchanged_thresholds_give_the_recorded_verdicts(instance: Instance) -> None:
    asked = [sys.executable, "-m", "tests.acceptance.what_if_of_all"]
    run = subprocess.run(
        asked,
        env=instance.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, f"exit code {run.returncode}: {run.stderr[-3000:]}"
    verdicts: dict[str, set[tuple[str, ...]]] = {"recorded": set(), "what-if": set()}
    for line in run.stdout.splitlines():
        which, verdict = json.loads(line)
        verdicts[which].add(tuple(verdict))
    assert len(verdicts["recorded"]) > 30
    assert verdicts["what-if"] == verdicts["recorded"]
