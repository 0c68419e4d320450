import importlib
import pkgutil
from functools import cache
from importlib.util import find_spec

import ingest
from ingest.source_declaration import Setting, Source


@cache
def sources() -> tuple[Source, ...]:
    modules = [
        f"ingest.{module.name}.source"
        for module in pkgutil.iter_modules(ingest.__path__)
        if module.ispkg
    ]
    declared = [importlib.import_module(name).SOURCES for name in modules if find_spec(name)]
    return tuple(
        sorted(
            (source for module_sources in declared for source in module_sources),
            key=lambda source: (source.turn, source.files, source.name),
        )
    )


def settings(*holding: str) -> tuple[Setting, ...]:
    return tuple(
        setting
        for source in sources()
        for setting in source.settings
        if not holding or setting.holds in holding
    )
