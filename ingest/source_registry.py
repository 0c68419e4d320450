import importlib
import pkgutil
from functools import cache
from importlib.util import find_spec

import ingest
from ingest.source_declaration import Setting, Source


@cache
def sources() -> tuple[Source, ...]:
    packages = (module.name for module in pkgutil.iter_modules(ingest.__path__) if module.ispkg)
    modules = filter(find_spec, (f"ingest.{package}.source" for package in packages))
    declared = [source for name in modules for source in importlib.import_module(name).SOURCES]
    return tuple(sorted(declared, key=lambda source: (source.turn, source.files, source.name)))


def settings(*holding: str) -> tuple[Setting, ...]:
    return tuple(
        setting
        for source in sources()
        for setting in source.settings
        if not holding or setting.holds in holding
    )
