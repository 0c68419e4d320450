"""Every setting, from the table in ``webapp/site/docs/settings.md``."""

import re

from webapp.site.documentation.places import FOLDER

_ROW = re.compile(r"^\| (`[A-Z_]+`(?:[,/ ]+`[A-Z_]+`)*) \| (.*?) \| (.*) \|$", re.MULTILINE)
_VARIABLE = re.compile(r"`([A-Z_]+)`")


def pages() -> dict[str, str]:
    return {"reference/settings.md": _table()}


def documented() -> list[tuple[list[str], str, str]]:
    """(variables, default, meaning) of each row."""
    return [
        (_VARIABLE.findall(names), default, meaning)
        for names, default, meaning in _ROW.findall(_table())
    ]


def _table() -> str:
    return (FOLDER / "settings.md").read_text()
