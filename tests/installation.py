"""An installation of Weir in a home of its own, as others run it: by its commands, each a
process.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp.config.environment import PROJECT_DIR


@dataclass
class Installation:
    home: Path
    database_url: str = ""

    @property
    def variables(self) -> dict[str, str]:
        """The environment of its processes."""
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WEIR_", "DJANGO_", "SPARK_"))
        }
        given = {"WEIR_DATABASE_URL": self.database_url} if self.database_url else {}
        return {
            **clean,
            "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
            "WEIR_HOME": str(self.home),
            **given,
        }

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *words],
            env=self.variables,
            cwd=PROJECT_DIR,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        process = self.start(*words)
        told, errors = process.communicate()
        return subprocess.CompletedProcess(words, process.returncode, told, errors)

    def story(self, *steps: str) -> dict[str, Any]:
        return told_by(self.begin(*steps))

    def begin(self, *steps: str) -> "subprocess.Popen[str]":
        return self.start("-m", "tests.lived_in", *steps)


def told_by(story: "subprocess.Popen[str]") -> dict[str, Any]:
    """What it saw at its end."""
    told, errors = story.communicate()
    assert story.returncode == 0, told[-2000:] + errors[-4000:]
    seen: dict[str, Any] = json.loads(told.splitlines()[-1])
    return seen
