"""PostgreSQL is killed with -9, or cuts its connections, while a worker applies, undoes or purges a
plan: the worker goes on soon, and does nothing twice.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.postgresql import NOT_FOR_POWER_CUTS, killed, migrated_database, postgresql
from tests.webapp.cleanup.test_killed import APPROVED, FILES, gone
from tests.webapp.cleanup.worlds import World
from tests.webapp.pipeline.site import Site, wait_for

pytestmark = [pytest.mark.integration, pytest.mark.long]
ENDS_WITHIN_S = 130
STATES = {"apply": "quarantined", "undo": "undone", "purge": "purged"}
ORDER = """
from django.utils import timezone
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan
orders.order(CleanupPlan.objects.get(), {verb!r}, "olga", timezone.now())
"""


class Cleaning(Site):
    """A site on PostgreSQL with one approved plan."""

    def __init__(self, home: Path, database_url: str) -> None:
        super().__init__(home)
        self.database_url = database_url
        self.environment |= {
            "DJANGO_SETTINGS_MODULE": "tests.webapp.cleanup.working_site_settings",
            "WEIR_DATABASE_URL": database_url,
            "WEIR_CLEANUP_FILES_PER_S": "20",
        }

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            found = connection.execute(query)
            return found.fetchall() if found.description else []

    def order(self, verb: str) -> None:
        self.manage("shell", "-v", "0", "-c", ORDER.format(verb=verb))

    def cut(self) -> None:
        """As when one of the server's processes dies, and it starts all others anew."""
        self.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND datname = current_database()"
        )

    def state(self) -> str:
        return str(self.rows("SELECT state FROM cleanup_cleanupplan")[0][0])


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with postgresql(NOT_FOR_POWER_CUTS) as found:
        yield found


@pytest.mark.parametrize("away_s", [None, 0, 3])
@pytest.mark.parametrize("verb", STATES)
def test_a_plan_goes_on_soon_after_its_database_was_killed(
    tmp_path: Path, server: Any, verb: str, away_s: int | None
) -> None:
    world = World(tmp_path / "ckpt")
    needed = [world.file(world.job(1) / "shared") for _ in range(3)]
    world.checkpoint(1, 1, needed)
    orphans = [world.file(world.job(1) / "shared") for _ in range(FILES)]
    with Cleaning(
        tmp_path / "home", migrated_database(server, f"weir_{verb}_{away_s}".lower())
    ) as site:
        site.manage("shell", "-v", "0", "-c", APPROVED.format(root=str(world.root)))
        site.worker("w", "storage,default")
        site.beat()
        site.order("apply")
        if verb != "apply":
            wait_for(lambda: site.state() == "quarantined", "the apply", 60)
            site.rows("UPDATE cleanup_cleanupplan SET purge_at = now() - interval '1 hour'")
        kept = [path for path in world.quarantine.rglob("*") if path.is_file()]
        if verb != "apply":
            site.order(verb)
        leaving = {"apply": orphans, "undo": kept, "purge": kept}[verb]
        wait_for(lambda: gone(leaving) >= FILES // 3, "a third of the files")
        if away_s is None:
            site.cut()
        else:
            with killed(server):
                time.sleep(away_s)
        wait_for(lambda: site.state() == STATES[verb], f"the end of {verb}", ENDS_WITHIN_S)
        assert gone(orphans) == (0 if verb == "undo" else FILES)
        assert gone(kept) == (0 if verb == "apply" else FILES)
        assert all(file.exists() for file in needed) and not world.unresolved()
