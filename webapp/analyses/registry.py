from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import get_args

from webapp.analyses import fleet, job, root
from webapp.analyses.declaration import DECLARED, Analysis, Subject, Tab


@cache
def _import_analyses() -> None:
    for package in (job, fleet, root):
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)


def all_analyses(subject: Subject = "job") -> Mapping[str, Analysis]:
    """Analyses by name, sorted by tab and then by name."""
    _import_analyses()
    tabs = get_args(Tab)
    declared = DECLARED[subject]
    return dict(sorted(declared.items(), key=lambda item: (tabs.index(item[1].tab), item[0])))
