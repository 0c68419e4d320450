"""The date of a log4j ``PatternLayout``, ``%d{pattern}{zone}`` → an expression for it."""

import re
from dataclasses import dataclass

from ingest.errors import Refused
from ingest.messages import message

_NAMED = {
    "": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT": "yyyy-MM-dd HH:mm:ss,SSS",
    "DEFAULT_MICROS": "yyyy-MM-dd HH:mm:ss,SSSSSS",
    "DEFAULT_PERIOD": "yyyy-MM-dd HH:mm:ss.SSS",
    "ISO8601": "yyyy-MM-dd'T'HH:mm:ss,SSS",
    "ISO8601_PERIOD": "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "ISO8601_BASIC": "yyyyMMdd'T'HHmmss,SSS",
    "COMPACT": "yyyyMMddHHmmssSSS",
}
_LETTERS = {
    "yyyy": ("y", 4),
    "yy": ("y", 2),
    "MM": ("M", 2),
    "dd": ("d", 2),
    "HH": ("H", 2),
    "mm": ("m", 2),
    "ss": ("s", 2),
}
_TOKEN = re.compile(r"'[^']*'|([A-Za-z])\1*+|[^A-Za-z']+")


@dataclass(frozen=True)
class LogDate:
    """``second`` takes the time up to the second apart into ``parts`` (``yMdHms`` in their order);
    what follows it is ``rest``.
    """

    second: str
    parts: str
    rest: str
    has_fraction: bool
    zone: str

    @property
    def regex(self) -> str:
        return f"({self.second.replace('([', '[').replace('})', '}')}){self.rest}"

    @property
    def begins_with_year(self) -> bool:
        return self.second.startswith("([0-9]{4})")


def no_layout(pattern: str, why: str) -> Refused:
    return Refused(
        message(
            "The log layout {pattern:text} cannot be read: {why:text}. Use 'flink' or a log4j "
            "pattern with %d and %m.",
            pattern=f"{pattern!r}",
            why=why,
        )
    )


def date_of(layout: str, options: list[str]) -> LogDate:
    """Of a layout with these options of its date; raises :class:`Refused` for a date that cannot be
    read.
    """
    pattern = _NAMED.get(options[0] if options else "", options[0] if options else "")
    second = parts = rest = ""
    has_fraction = False
    for token in (match[0] for match in _TOKEN.finditer(pattern)):
        if token in _LETTERS and not has_fraction:
            letter, digits = _LETTERS[token]
            parts += letter
            second += f"{rest}([0-9]{{{digits}}})"
            rest = ""
        elif set(token) == {"S"} and len(parts) == 6 and not has_fraction:
            rest += f"([0-9]{{{len(token)}}})"
            has_fraction = True
        elif token[0].isalpha():
            raise no_layout(
                layout,
                message(
                    "its date has {token:text}; only years to fractions of a second in digits are "
                    "supported",
                    token=f"{token!r}",
                ),
            )
        else:
            rest += re.escape(token.strip("'"))
    if sorted(parts) != sorted("yMdHms"):
        raise no_layout(
            layout,
            message(
                "its date {pattern:text} lacks the day or the time of day", pattern=f"{pattern!r}"
            ),
        )
    return LogDate(second, parts, rest, has_fraction, options[1] if len(options) > 1 else "")
