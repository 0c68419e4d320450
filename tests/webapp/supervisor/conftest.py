import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from webapp.supervisor.child import Child, Program
from webapp.supervisor.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def run_python(tmp_path: Path) -> Iterator[Callable[..., Child]]:
    """Start a child that runs this Python text; all of them are ended with the test."""
    children: list[Child] = []

    def start(code: str, **program: object) -> Child:
        command = [sys.executable, "-u", "-c", code]
        child = Child(Program("child", command, dict(os.environ), tmp_path, **program), tmp_path)  # type: ignore[arg-type]
        children.append(child)
        child.start()
        return child

    yield start
    for child in children:
        child.kill()


@pytest.fixture
def never() -> threading.Event:
    return threading.Event()
