"""Commands that the documentation names, and what stands for its placeholders."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from webapp.site.documentation.places import PAGES

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MANAGE, INGEST = [".venv/bin/python", "manage.py"], [".venv/bin/python", "-m", "ingest"]

RUN_ELSEWHERE = {
    "make run": "tests/integration/test_whole.py",
    "make run DEMO=0": "tests/integration/test_disturbed.py",
    "make docs": "tests/webapp/documentation/test_site.py",
    "cp": "tests/deploy/test_compose.py",
    "docker compose": "tests/deploy/test_compose.py",
    "helm install": "tests/deploy/test_helm.py",
    "kubectl create secret": "tests/deploy/test_helm.py",
    "manage.py add_cluster": "tests/integration/test_live.py",
    "manage.py add_storage_root ROOT": "tests/webapp/cleanup/test_whole.py",
    "manage.py audit_storage ROOT": "tests/webapp/cleanup/test_whole.py",
    "manage.py audit_storage": "tests/webapp/storage/test_commands.py",
    "manage.py storage_statement": "tests/webapp/cleanup/test_whole.py",
    "manage.py plan_cleanup": "tests/webapp/cleanup/test_commands.py",
    "manage.py approve_cleanup": "tests/webapp/cleanup/test_commands.py",
    "manage.py apply_cleanup": "tests/webapp/cleanup/test_commands.py",
    "manage.py apply": "tests/webapp/site/test_declared.py",
    "manage.py export": "tests/webapp/site/test_declared.py",
    "manage.py preflight": "tests/webapp/analyses/recovery/test_preflight.py",
    "manage.py migrate": "tests/migrated.py",
    "manage.py reencrypt_secrets": "tests/webapp/documentation/test_saving.py",
    "umask": "tests/webapp/documentation/test_saving.py",
    "mkdir": "tests/webapp/config/test_damaged_database.py",
    "sqlite3": "tests/webapp/documentation/test_saving.py",
    "-c": "tests/webapp/documentation/test_saving.py",
    "pg_dump": "tests/webapp/documentation/test_saving.py",
    "pg_restore": "tests/webapp/documentation/test_saving.py",
    "tar": "tests/webapp/documentation/test_saving.py",
    "-m ingest record": "tests/ingest/recordings/test_recorder.py",
}
"""How a command begins → the test that runs it, since it takes minutes, a real Flink, or an
installation of its own.
"""


def named() -> Iterator[tuple[Path, str]]:
    """Every line of every block of commands, in the order of a reader: install first."""
    first = [PAGES / "install.md"]
    for page in [*first, *sorted(set(PAGES.rglob("*.md")) - set(first))]:
        for block in BLOCK.findall(page.read_text()):
            yield from ((page, line) for line in block.splitlines() if line.strip())


def elsewhere(line: str) -> str | None:
    """The test that runs it, where that is not the one of the documentation."""
    begins = line.removeprefix(".venv/bin/python ")
    known = max(
        (one for one in RUN_ELSEWHERE if begins == one or begins.startswith(f"{one} ")),
        key=len,
        default=None,
    )
    return RUN_ELSEWHERE[known] if known else None


def words(line: str, given: dict[str, str]) -> list[str]:
    """As a shell splits them, with what this installation has in place of what stands for it."""
    return [given.get(word, word) for word in shlex.split(line)]
