"""What ``pyproject.toml`` asks for, with all that this needs in turn, as it is installed here."""

import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from webapp.config.environment import PROJECT_DIR

PROJECT: dict[str, Any] = tomllib.loads((PROJECT_DIR / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def needed(*extras: str) -> set[str]:
    """Names of distributions, in their canonical form: of the base and of ``extras``."""
    found: set[tuple[str, str]] = set()
    waiting = [*_declared(PROJECT["dependencies"]), *_declared(_lines(extras))]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            name, extra = each
            waiting += _declared(metadata.requires(name) or (), extra)
    return {name for name, _extra in found}


def _lines(extras: Iterable[str]) -> Iterator[str]:
    for line in (line for extra in extras for line in EXTRAS[extra]):
        requirement = Requirement(line)
        if requirement.name == PROJECT["name"]:
            yield from _lines(requirement.extras)
        else:
            yield line


def _declared(lines: Iterable[str], extra: str = "") -> Iterator[tuple[str, str]]:
    """Those that count on this machine for ``extra``: each once for itself and for its extras."""
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            for part in ("", *requirement.extras):
                yield canonicalize_name(requirement.name), part
