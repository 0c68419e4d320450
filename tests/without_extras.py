"""``python -m tests.without_extras WORDS…``: as if the base dependencies alone were there.

WORDS are a script or ``-m`` and a module, with their arguments.
"""

import runpy
import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from packaging.utils import canonicalize_name

from tests.requirements import needed


def modules_of_others(distributions: set[str]) -> set[str]:
    """Top-level modules that none of these distributions brings."""
    return {
        module
        for module, brought_by in metadata.packages_distributions().items()
        if distributions.isdisjoint(map(canonicalize_name, brought_by))
    }


class Base(PathFinder):
    """Finds what Python finds, but no module of other distributions."""

    others = modules_of_others(needed())

    @classmethod
    def find_spec(
        cls,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in cls.others:
            return None
        return super().find_spec(fullname, path, target)


if __name__ == "__main__":
    sys.meta_path[:] = [Base if finder is PathFinder else finder for finder in sys.meta_path]
    del sys.argv[0]
    if sys.argv[0] == "-m":
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
