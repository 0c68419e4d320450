"""One directory under two names, through the doors that an operator uses and with real audits by
Spark: nothing of it ever goes.
"""

import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tests.mounts import bind
from tests.webapp.builders import cluster, job
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.storage.models import StorageRoot

__all__ = ["home"]

Alias = Callable[[Path, Path, ExitStack], tuple[str, str]]
"""Makes another name of a directory; returns what a root of it is registered with: URI, and where
it is read.
"""


def by_symlink(directory: Path, name: Path, stack: ExitStack) -> tuple[str, str]:
    name.symlink_to(directory)
    return f"file:{name}", ""


def by_read_at(directory: Path, name: Path, stack: ExitStack) -> tuple[str, str]:
    return f"s3://bucket-{name.name}/flink", str(directory)


def by_copy(directory: Path, name: Path, stack: ExitStack) -> tuple[str, str]:
    """As another mount of the same storage looks from here, of which no number tells that it is the
    same.
    """
    shutil.copytree(directory, name)
    return f"hdfs://{name.name}/flink", str(name)


def by_mount(directory: Path, name: Path, stack: ExitStack) -> tuple[str, str]:
    stack.callback(bind(directory, name))
    return f"file:{name}", ""


def by_mount_of_a_part(directory: Path, name: Path, stack: ExitStack) -> tuple[str, str]:
    """Neither root is the other: one holds a directory of the other."""
    job_directory = next(directory.iterdir())
    stack.callback(bind(job_directory, name / job_directory.name))
    return f"file:{name}", ""


ALIASES: tuple[Alias, ...] = (by_symlink, by_read_at, by_copy, by_mount, by_mount_of_a_part)
SEEN_WHEN_REGISTERED: tuple[Alias, ...] = (by_symlink, by_read_at, by_mount)


@pytest.mark.django_db(transaction=True)
def test_no_plan_holds_anything_of_a_directory_with_two_names(home: Path) -> None:
    now = timezone.now()
    old = now - timedelta(days=60)
    job(
        cluster(at=now + timedelta(days=1)).name,
        at=now,
        job_id=name_of_job(1),
        state="CANCELED",
        terminal=True,
    )
    with ExitStack() as stack:
        played: dict[str, str] = {}
        for number, alias in enumerate(ALIASES, start=11):
            world = World(home / f"ckpt-{number}")
            job("prod-eu", at=now, job_id=name_of_job(number), state="CANCELED", terminal=True)
            world.checkpoint(
                number,
                7,
                [world.file(world.job(number) / "shared", at=old) for _ in range(3)],
                at=old,
            )
            world.file(world.job(number) / "shared", at=old)
            try:
                uri, read_at = alias(world.root, home / f"alias-{number}", stack)
            except OSError as error:
                print(f"{alias.__name__} cannot be played: {error}")
                continue
            run("add_storage_root", str(world.root), "--attest", "olga", "--cluster", "prod-eu")
            if alias in SEEN_WHEN_REGISTERED:
                with pytest.raises(CommandError, match="the same directory"):
                    run("add_storage_root", uri, "--read-at", read_at)
            # The other name came to be after both were registered.
            StorageRoot.objects.create(
                uri=uri, read_at=read_at, attested_at=now, attested_name="olga"
            )
            played |= {world.uri: uri, uri: world.uri}
        run("audit_storage", "--as-of", (now - timedelta(days=30)).isoformat())
        lines = [json.loads(line) for line in run("audit_storage", "--json").splitlines()]
        told = {line["root"]: line for line in lines if "cleanable" in line}
        assert told.keys() == played.keys() and len(played) >= 6
        for root, line in told.items():
            assert not line["cleanable"] and "two_names" in line["not_cleanable"], (root, line)
        head, *files = [json.loads(line) for line in run("plan_cleanup", "--json").splitlines()]
    assert not files
    withheld = {root["uri"]: " ".join(root["reasons"]) for root in head["withheld_roots"]}
    for root, other in played.items():
        assert other.removeprefix("file:") in withheld[root], withheld[root]
