"""Weir homes driven only by commands, and recordings cut into pieces for them."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.migrated import migrated_database

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "fixtures" / "recordings"
NAMES = sorted(
    str(path.parent.relative_to(RECORDINGS)) for path in RECORDINGS.glob("*/*/rest.jsonl")
)
IN_PIECES = ("1.20.5/F", "1.20.5/E", "1.12.5/G")


def cluster_of(name: str) -> str:
    return name.replace("/", "-")


class Instance:
    """A Weir home of its own, driven only by its commands; ``spark`` is the address of a server."""

    def __init__(self, home: Path, spark: str) -> None:
        self.home = home
        home.mkdir(exist_ok=True)
        shutil.copy(migrated_database(), home)
        self._told: list[dict] | None = None
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("WEIR_", "SPARK_"))
            },
            "WEIR_HOME": str(home),
            "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
            "SPARK_REMOTE": spark,
        }

    def manage(self, *arguments: str) -> str:
        if arguments[0] in ("shell", "run_pipeline"):
            self._told = None
        finished = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert finished.returncode == 0, (
            f"{arguments}: {finished.stdout[-3000:]}\n{finished.stderr[-5000:]}"
        )
        return finished.stdout

    def import_recordings(self, *recordings: tuple[Path, str]) -> None:
        """Directory and cluster of each; one process for all, as most of the time of a command is
        its start.
        """
        self.manage_all(
            *(
                ("import_recording", str(directory), "--cluster", cluster)
                for directory, cluster in recordings
            )
        )

    def manage_all(self, *commands: tuple[str, ...]) -> None:
        called = "; ".join(f"call_command{command!r}" for command in commands)
        self.manage(
            "shell", "-v", "0", "-c", f"from django.core.management import call_command; {called}"
        )

    def checkpoints(self, cluster: str | None = None) -> list[dict]:
        """What the command prints, asked for once as long as nothing new came in: starting it is
        most of its time.
        """
        if self._told is None:
            self._told = [
                json.loads(line) for line in self.manage("checkpoints").splitlines() if line.strip()
            ]
        return [fact for fact in self._told if cluster in (None, fact["cluster"])]


def split(whole: Path, early: Path, late: Path) -> None:
    """Two overlapping parts of one recording; the later part has its logs as numbered gzip
    archives.
    """
    lines = (whole / "rest.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for part, kept in ((early, lines[: len(lines) * 2 // 3]), (late, lines[len(lines) // 3 :])):
        (part / "logs").mkdir(parents=True)
        (part / "rest.jsonl").write_text("".join(kept), encoding="utf-8")
        shutil.copy(whole / "scenario.json", part)
    for log in (whole / "logs").iterdir():
        text = log.read_bytes().splitlines(keepends=True)
        (early / "logs" / log.name).write_bytes(b"".join(text[: len(text) * 2 // 3]))
        (late / "logs" / f"{log.name}.3.gz").write_bytes(gzip.compress(log.read_bytes()))
