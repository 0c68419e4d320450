"""An inhabited installation whose files lie in a folder of their own."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from tests.attacks.inhabited import inhabit
from tests.weir_settings import WeirSettings, below
from webapp.fleet.models import JobCurrent


@dataclass(frozen=True)
class Installation:
    """``of``: the job of which all is told. ``kept``: the files of ``folder`` as they were made."""

    of: JobCurrent
    folder: Path
    kept: Path


@pytest.fixture(autouse=True)
def _folders(home: Path, weir: WeirSettings) -> None:
    """Nothing is left in the home of the tests, and no page comes from the cache."""
    cache.clear()


@pytest.fixture(scope="module")
def _installation(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installation]:
    """Made once for all tests of a module, each of which begins with it: what one does to its rows
    and files is undone at its end.
    """
    folder, kept = tmp_path_factory.mktemp("inhabited"), tmp_path_factory.mktemp("kept") / "files"
    whole = transaction.atomic()
    with ExitStack() as undone:
        with (
            django_db_blocker.unblock(),
            override_settings(WEIR=replace(settings.WEIR, **below(folder))),
        ):
            cache.clear()
            whole.__enter__()
            undone.callback(_take_back, whole, django_db_blocker)
            of = inhabit(folder)
        shutil.copytree(folder, kept, symlinks=True)
        yield Installation(of, folder, kept)


def _take_back(whole: transaction.Atomic, blocker: DjangoDbBlocker) -> None:
    with blocker.unblock():
        transaction.set_rollback(True)
        whole.__exit__(None, None, None)


@pytest.fixture
def inhabited(
    _folders: None, _installation: Installation, db: None, weir: WeirSettings
) -> Iterator[JobCurrent]:
    weir(**below(_installation.folder))
    of = JobCurrent.objects.get(pk=_installation.of.pk)
    yield of
    shutil.rmtree(_installation.folder)
    shutil.copytree(_installation.kept, _installation.folder, symlinks=True)
