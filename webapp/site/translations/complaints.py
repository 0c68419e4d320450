"""Faults of the catalogues, one per line. A test requires that there are none."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from webapp.site.translations import catalogues
from webapp.site.translations.areas import Area
from webapp.site.translations.checks import fault_of


def complaints(areas: Iterable[Area]) -> Iterator[str]:
    translated: dict[catalogues.Key, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for area in areas:
        yield from _area_complaints(area)
        for key, text in catalogues.texts(catalogues.read(area.po)).items():
            translated[key][text].append(area.name)
    for (_, english), by_text in translated.items():
        if len(by_text) > 1:
            variants = "; ".join(
                f"{text!r} in {', '.join(names)}" for text, names in by_text.items()
            )
            yield f"{_short(english)} is translated in more than one way: {variants}"


def _area_complaints(area: Area) -> Iterator[str]:
    catalogue = catalogues.read(area.po)
    entries = catalogues.entries(catalogue)
    messages = {message.key: message for message in area.messages()}
    for key, message in messages.items():
        if key not in entries:
            yield (
                f"{area.name}: {_short(message.text)} of {message.paths[0]} is in no catalogue; "
                "run manage.py translations"
            )
            continue
        problem = fault_of(message.text, message.plural, catalogues.text_of(entries[key]))
        if entries[key].fuzzy:
            problem = "is marked as fuzzy"
        if problem:
            yield f"{area.name}: {_short(message.text)} of {message.paths[0]} {problem}"
    for key in entries.keys() - messages.keys():
        yield (
            f"{area.name}: {_short(key[1])} is marked nowhere any more; run manage.py translations"
        )
    if catalogues.compiled(area.mo) != catalogues.texts(catalogue):
        yield (
            f"{area.name}: the compiled catalogue is not that of its .po; run manage.py "
            "translations"
        )


def _short(english: str) -> str:
    return repr(english if len(english) <= 80 else english[:79] + "…")
