"""``python -m webapp.supervisor.recordings``: import the shipped recordings that this instance has not had yet.

The most instructive ones go through Spark before the others are read, so that there is something to look at
early. What was imported is noted in the home: a recording that was removed does not come back.
"""

import io
import json
import sys
import time
from pathlib import Path

import django
from django.apps import apps
from django.conf import settings
from django.core.management import CommandError, call_command

from webapp.config.environment import PROJECT_DIR
from webapp.supervisor.home import write_privately

SHIPPED = PROJECT_DIR / "tests" / "fixtures" / "recordings"
SHOWN_FIRST = ("1.20.5/E", "1.20.5/B", "1.20.5/F")
"""Declines, back-pressure, expiries: what a newcomer should see while the rest comes in."""


def shipped() -> list[tuple[Path, str]]:
    """Folder and cluster name of every shipped recording, the most instructive ones first."""
    names = sorted(str(path.parent.relative_to(SHIPPED)) for path in SHIPPED.glob("*/*/rest.jsonl"))
    ordered = sorted(names, key=lambda name: (SHOWN_FIRST.index(name) if name in SHOWN_FIRST else len(SHOWN_FIRST), name))
    return [(SHIPPED / name, f"demo-{name.replace('/', '-')}") for name in ordered]


def main() -> int:
    django.setup()
    noted = settings.WEIR.home / "recordings.json"
    had = _noted(noted)
    missing = [(folder, cluster) for folder, cluster in shipped() if cluster not in had]
    began = time.monotonic()
    for number, (folder, cluster) in enumerate(missing, start=1):
        _run("import_recording", str(folder), cluster=cluster, verbosity=0)
        print(f"Recording {number} of {len(missing)}: {cluster} ({time.monotonic() - began:.0f} s)", flush=True)
        if number in (len(SHOWN_FIRST), len(missing)):
            print("Spark works on them; pages fill as it does …", flush=True)
            _run("run_pipeline")
            print(f"{number} of {len(missing)} recordings can be seen ({time.monotonic() - began:.0f} s)", flush=True)
        had.add(cluster)
        write_privately(noted, json.dumps(sorted(had)))
    return 0


def _run(command: str, *arguments: str, **options: object) -> None:
    """What goes wrong is said and no reason to stop: the pipeline page lists it, and the workers try again."""
    try:
        call_command(command, *arguments, stdout=io.StringIO(), **options)
    except CommandError as error:
        print(f"{Path(arguments[0]).name}: {error}" if arguments else str(error), flush=True)


def _noted(path: Path) -> set[str]:
    """Empty also where the database was made anew: then everything is imported again."""
    if not path.is_file() or not apps.get_model("fleet", "Cluster").objects.exists():
        return set()
    return set(json.loads(path.read_text()))


if __name__ == "__main__":
    sys.exit(main())
