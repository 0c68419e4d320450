"""A second name for a directory by a bind mount, where the machine lets tests make one."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest


def bind(directory: Path, name: Path) -> Callable[[], None]:
    """``name`` is ``directory`` from here on; returns what takes it away.

    Raises ``OSError`` where the machine refuses.
    """
    name.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(
            ["mount", "--bind", str(directory), str(name)],
            check=True,
            capture_output=True,
            timeout=30,
        )
    except subprocess.SubprocessError as error:
        raise OSError(f"no bind mount here: {error}") from error
    return lambda: (
        subprocess.run(["umount", "--lazy", str(name)], check=True, capture_output=True, timeout=30)
        and None
    )


@pytest.fixture
def mounts() -> Iterator[Callable[[Path, Path], None]]:
    """``mount(directory, name)``; the test is skipped where the machine refuses."""
    with ExitStack() as stack:

        def mount(directory: Path, name: Path) -> None:
            try:
                stack.callback(bind(directory, name))
            except OSError as error:
                pytest.skip(str(error))

        yield mount
