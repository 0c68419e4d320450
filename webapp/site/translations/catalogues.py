"""Reads, builds, writes and compiles catalogue files, which contain no times and no line numbers."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry
from babel.messages.mofile import read_mo, write_mo
from babel.messages.pofile import read_po, write_po

from webapp.site.translations.areas import LANGUAGE, Area
from webapp.site.translations.extraction import Message

Key = tuple[str, str]
"""Context and the text in English."""
_FIXED_DATE = datetime(2026, 1, 1, tzinfo=UTC)
_HEADER = """\
# Translations of Weir.
msgid ""
msgstr ""
"Language: zh_Hans\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

"""
"""The header is the same on all machines and days, and with all releases of Babel."""


def read(path: Path) -> Catalog:
    """An empty catalogue if there is no file."""
    if not path.exists():
        return _empty()
    with path.open("rb") as file:
        return read_po(file, locale=LANGUAGE)


def entries(catalogue: Catalog) -> dict[Key, Entry]:
    return {key_of(entry): entry for entry in catalogue if entry.id}


def key_of(entry: Entry) -> Key:
    # From a compiled file Babel reads the context as bytes, and plurals as a list.
    context: object = entry.context or ""
    text = entry.id[0] if isinstance(entry.id, tuple | list) else str(entry.id)
    return context.decode() if isinstance(context, bytes) else str(context), text


def text_of(entry: Entry) -> str:
    translated = entry.string or ""
    return str(translated[0] if isinstance(translated, tuple | list) else translated)


def texts(catalogue: Catalog) -> dict[Key, str]:
    return {
        key: text_of(entry)
        for key, entry in entries(catalogue).items()
        if text_of(entry) and not entry.fuzzy
    }


def build(messages: Iterable[Message], translated: Mapping[Key, str]) -> Catalog:
    catalogue = _empty()
    for message in messages:
        text = translated.get(message.key, "")
        catalogue.add(
            (message.text, message.plural) if message.plural else message.text,
            (text,) if message.plural else text,
            locations=[(path, 0) for path in message.paths],
            context=message.context or None,
        )
    return catalogue


def write(area: Area, catalogue: Catalog) -> None:
    if not entries(catalogue):
        area.po.unlink(missing_ok=True)
        area.mo.unlink(missing_ok=True)
        return
    area.po.parent.mkdir(parents=True, exist_ok=True)
    with area.po.open("wb") as file:
        file.write(_HEADER.encode())
        write_po(file, catalogue, width=0, include_lineno=False, omit_header=True)
    with area.mo.open("wb") as file:
        write_mo(file, catalogue)


def compiled(path: Path) -> dict[Key, str]:
    if not path.exists():
        return {}
    with path.open("rb") as file:
        return texts(read_mo(file))


def _empty() -> Catalog:
    return Catalog(
        locale=LANGUAGE, creation_date=_FIXED_DATE, revision_date=_FIXED_DATE, fuzzy=False
    )
