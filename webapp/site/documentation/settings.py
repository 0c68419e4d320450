"""Every setting: its meaning from the table in ``webapp/site/docs/settings.md``, its valid values
from its reader.
"""

import dataclasses
import re
from functools import partial

from webapp.config.environment import Environment
from webapp.config.readers import flag, number
from webapp.site.documentation.markdown import plain, table
from webapp.site.documentation.places import FOLDER

_ROW = re.compile(r"^\| (`[A-Z_]+`(?:[,/ ]+`[A-Z_]+`)*) \| (.*?) \| (.*) \|$", re.MULTILINE)
_VARIABLE = re.compile(r"`([A-Z_]+)`")


def pages() -> dict[str, str]:
    accepted = accepted_values()
    rows = []
    for names, default, meaning in documented():
        of_these = dict.fromkeys(accepted[name] for name in names if name in accepted)
        rows.append(
            (
                ", ".join(f"`{name}`" for name in names),
                default,
                meaning,
                "; ".join(map(plain, of_these)) or "–",
            )
        )
    text = (
        "# Settings\n\nSet these environment variables. Weir refuses an invalid value at start, "
        "with one sentence that names it.\n\n"
    )
    return {
        "reference/settings.md": f"{text}{table(('variable', 'default', 'meaning', 'may be'), rows)}\n"
    }


def documented() -> list[tuple[list[str], str, str]]:
    rows = [
        (_VARIABLE.findall(names), default, meaning)
        for names, default, meaning in _ROW.findall((FOLDER / "settings.md").read_text())
    ]
    return [row for row in rows if row[0]]


def accepted_values() -> dict[str, str]:
    accepted = {}
    for field in dataclasses.fields(Environment):
        reader = field.default_factory
        if not isinstance(reader, partial) or not reader.args:
            continue
        read, *arguments = reader.args if callable(reader.args[0]) else (reader.func, *reader.args)
        if not arguments or not str(arguments[0]).startswith("WEIR_"):
            continue
        name, *rest = arguments
        if read is flag:
            accepted[name] = "true or false"
        elif read is number:
            accepted[name] = f"{rest[1]} to {rest[2]}"
        else:
            accepted[name] = next(
                (text for text in rest if isinstance(text, str) and " " in text), ""
            )
    return {name: text for name, text in accepted.items() if text}
