"""Sentences for people, as a template and its values.

For example::

    EXPIRED = "{count:count} checkpoints expired after {timeout_ms:duration}"
    message(EXPIRED, count=9, timeout_ms=4000)

The template is English and is the msgid of the catalogues of translations. A message is a ``str``:
its English text. Rows store template and values (``to_plain``), and pages render them in their
reader's language (``webapp.lib.messages``).

Kinds of placeholders::

    count      int           12,345
    number     int or float  12345, 0.25, as it is: an id, a port, a factor
    decimal1   float         1,234.5
    decimal2   float         0.25
    duration   ms            25.3 s
    bytes      bytes         78.2 MB
    share      0 … 1         31.4 %
    name       str           of a job, a vertex, a host, a setting; never translated, unless it is a message
    names      list of str   a, b and c
    text       str           what Flink, a storage or a file says; never translated, unless it is a message
    opening    str           as text; in English with a capital letter, since the sentence begins with it
    message    Message       a part of the sentence; empty for nothing

A message in an f-string or in ``join`` becomes plain text: ``join_messages`` leaves it a
message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any, ClassVar, Self

_SIZES = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
_TIMES = (
    ("d", 48 * 3_600_000, 86_400_000),
    ("h", 2 * 3_600_000, 3_600_000),
    ("min", 120_000, 60_000),
    ("s", 1_000, 1_000),
)


def bytes_figure(size_bytes: float) -> str:
    for unit, factor in _SIZES:
        if abs(size_bytes) >= factor:
            return f"{short_figure(size_bytes / factor)} {unit}"
    return f"{size_bytes:.0f} bytes"


def duration_figure(duration_ms: float) -> str:
    for unit, begins_ms, factor in _TIMES:
        if abs(duration_ms) >= begins_ms:
            return f"{short_figure(duration_ms / factor)} {unit}"
    return f"{duration_ms:.0f} ms"


def share_figure(share: float) -> str:
    """``100 %`` and ``0 %`` are exact. Shares close to them are ``> 99.9 %`` or ``< 0.1 %``."""
    percent = share * 100
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return "> 99.9 %" if 99.95 <= percent < 100 else f"{short_figure(percent)} %"


def short_figure(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if abs(value) < 1000 else f"{value:,.0f}"


def list_figure(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return parts[0] if parts else ""
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def count_text(count: int, noun: str) -> str:
    """``1 byte``, ``3,000 bytes``. For the output of commands, which is English."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


LONGEST_NAME = 60
MOST_LISTED = 3
PLACEHOLDER = re.compile(r"\{(\w+)(?::(\w+))?\}")
_TEMPLATE = "template"
_PLURAL = "plural"
_NUMBER = "number"
_FIGURES: dict[str, Callable[[Any], str]] = {
    "count": lambda value: f"{value:,.0f}",
    "number": lambda value: f"{value:g}" if isinstance(value, float) else str(value),
    "decimal1": lambda value: f"{value:,.1f}",
    "decimal2": lambda value: f"{value:.2f}",
    "duration": duration_figure,
    "bytes": bytes_figure,
    "share": share_figure,
}
KINDS = frozenset({*_FIGURES, "name", "names", "text", "opening", "message"})

Value = int | float | str | list[str]


class Message(str):
    """Equal to its English text. ``plural`` is the template of the plural form, ``number`` the
    count; they are "" and 1 if the message counts nothing.
    """

    __slots__ = ("number", "plural", "template", "values")

    in_language: ClassVar[Callable[[str], str]] = staticmethod(str)

    template: str
    plural: str
    number: int
    values: Mapping[str, Value]

    def __new__(
        cls, template: str, values: Mapping[str, Value], plural: str = "", number: int = 1
    ) -> Self:
        parts = placeholders(template)
        if set(parts) != set(values):
            raise ValueError(
                f"{template!r} has values for {sorted(values)}, not for {sorted(parts)}."
            )
        for name, kind in parts.items():
            _check(template, name, kind, values[name])
        form = plural if plural and number != 1 else template
        self = super().__new__(
            cls, _fill(form, {name: _english(kind, values[name]) for name, kind in parts.items()})
        )
        self.template, self.values, self.plural, self.number = template, values, plural, number
        return self

    def __str__(self) -> str:
        return self

    def strip(self, chars: str | None = None) -> str:
        return (
            super().strip(chars)
            if chars
            else Message(self.template.strip(), self.values, self.plural.strip(), self.number)
        )

    def __html__(self) -> str:
        return escape(type(self).in_language(self))

    def __add__(self, other: str) -> Message:
        return join_messages((self, other))

    def __radd__(self, other: str) -> Message:
        return join_messages((other, self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, (self.template, dict(self.values), self.plural, self.number)


def message(template: str, /, **values: Value) -> Message:
    """Raises ValueError or TypeError if the values are not those of the template."""
    return Message(template, values)


def plural(count: int, singular: str, many: str, **values: Value) -> Message:
    """``count`` fills ``{count:count}`` unless ``values`` are given."""
    return Message(singular, values or {"count": count}, many, count)


def quoted(text: str) -> Message:
    return text if isinstance(text, Message) else Message("{text:text}", {"text": text})


def join_messages(parts: Iterable[str], separator: str = "") -> Message:
    present = [part for part in parts if part]
    template = separator.join(f"{{part{at}:text}}" for at in range(len(present)))
    return Message(template, {f"part{at}": part for at, part in enumerate(present)})


def in_sentence(word: str) -> str:
    """The word in lower case, which catalogues have as declared."""
    return (
        Message(word.lower(), {}) if isinstance(word, Message) and not word.values else word.lower()
    )


def brief(name: str) -> str:
    """The name, cut to ``LONGEST_NAME``: names of long chains and SQL plans take kilobytes."""
    if isinstance(name, Message) or len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 1].rstrip()}…"


def bytes_text(size_bytes: float) -> Message:
    return Message("{size_bytes:bytes}", {"size_bytes": size_bytes})


def ms_text(duration_ms: float) -> Message:
    return Message("{duration_ms:duration}", {"duration_ms": duration_ms})


def share_text(share: float) -> Message:
    return Message("{share:share}", {"share": share})


def list_text(names: Iterable[str], at_most: int = MOST_LISTED) -> Message:
    """``a, b and 4 more``; empty without names."""
    all_names = list(names)
    omitted = len(all_names) - at_most
    if omitted > 0:
        shown = join_messages(all_names[:at_most], ", ")
        return message("{names:message} and {count:count} more", names=shown, count=omitted)
    return Message("{names:names}", {"names": all_names})


def subtask_text(vertex: str | None, subtask: int | None) -> Message:
    """``enrich/1``. Subtasks count from 0, as in Flink's REST answers and web page."""
    name = brief(vertex or message("a task"))
    if subtask is None:
        return quoted(name)
    return Message("{vertex:name}/{subtask:number}", {"vertex": name, "subtask": subtask})


@lru_cache(maxsize=8_192)
def placeholders(template: str) -> dict[str, str]:
    kinds = {name: kind or "text" for name, kind in PLACEHOLDER.findall(template)}
    if unknown := set(kinds.values()) - KINDS:
        raise ValueError(f"{template!r} has placeholders of unknown kinds: {sorted(unknown)}.")
    return kinds


Translate = Callable[[Message], str]
Fill = Callable[[str, Mapping[str, str]], str]


def rendered(shown: str, translate: Translate, fill: Fill) -> str:
    """``translate`` returns the template in a language, ``fill`` inserts the values."""
    if not isinstance(shown, Message):
        return shown
    parts = placeholders(shown.template)
    texts = {
        name: _translate(kind, shown.values[name], translate, fill) for name, kind in parts.items()
    }
    return fill(translate(shown), texts)


def _translate(kind: str, value: Any, translate: Translate, fill: Fill) -> str:
    if kind == "bytes" and abs(value) < 1000:
        return rendered(plural(value, "{count:count} byte", "{count:count} bytes"), translate, fill)
    if kind == "names":
        names = [rendered(item, translate, fill) for item in value]
        return fill(translate(message(", ")), {}).join(names)
    if isinstance(value, Message):
        return rendered(value, translate, fill)
    return _english(kind, value)


def to_plain(value: Any) -> Any:
    """The value with each message in it, also in lists, tuples and dicts, as a dict for JSON."""
    if isinstance(value, Message):
        plain = {
            _TEMPLATE: value.template,
            "values": {name: to_plain(item) for name, item in value.values.items()},
        }
        return plain | {_PLURAL: value.plural, _NUMBER: value.number} if value.plural else plain
    if isinstance(value, Mapping):
        return {name: to_plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value


def message_document(text: str) -> str:
    return json.dumps(to_plain(quoted(text)), ensure_ascii=False, separators=(",", ":"))


def with_texts(shown: Message, change: Callable[[str], str]) -> Message:
    def change_value(value: Any) -> Any:
        if isinstance(value, Message):
            return with_texts(value, change)
        if isinstance(value, list):
            return [change_value(part) for part in value]
        return change(value) if isinstance(value, str) else value

    values = {name: change_value(value) for name, value in shown.values.items()}
    return Message(shown.template, values, shown.plural, shown.number)


def is_message(plain: Mapping[str, Any]) -> bool:
    return {_TEMPLATE, "values"} <= plain.keys() <= {_TEMPLATE, "values", _PLURAL, _NUMBER}


def as_message(plain: dict[str, Any]) -> Any:
    """Inverse of ``to_plain``, as an object hook of JSON readers. A dict that is no message is
    returned as it is.
    """
    if not is_message(plain):
        return plain
    try:
        return Message(
            plain[_TEMPLATE], plain["values"], plain.get(_PLURAL, ""), plain.get(_NUMBER, 1)
        )
    except (TypeError, ValueError, AttributeError):
        return plain


def _check(template: str, name: str, kind: str, value: Any) -> None:
    if kind in _FIGURES:
        is_of_kind = isinstance(value, int | float) and not isinstance(value, bool)
    elif kind == "names":
        is_of_kind = isinstance(value, list) and all(isinstance(item, str) for item in value)
    elif kind == "message":
        is_of_kind = isinstance(value, Message) or value == ""
    else:
        is_of_kind = isinstance(value, str)
    if not is_of_kind:
        raise TypeError(f"{template!r}: {name} is to be a {kind}, not {value!r}.")


def _english(kind: str, value: Any) -> str:
    if kind in _FIGURES:
        return _FIGURES[kind](value)
    if kind == "names":
        return list_figure(value)
    return f"{value[:1].upper()}{value[1:]}" if kind == "opening" else str(value)


def _fill(template: str, texts: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: texts[match[1]], template)
