"""What changes settings of Weir in a test."""

from collections.abc import Callable
from pathlib import Path

WeirSettings = Callable[..., None]
"""Takes fields of ``settings.WEIR`` by name; all are as before when the test ends."""


def below(folder: Path) -> dict[str, object]:
    """The fields with which everything that Weir writes lies there."""
    return {
        "home": folder,
        **{f"{name}_root": str(folder / name) for name in ("lake", "runs", "plans")},
    }
