import re
from collections.abc import Mapping

from django.utils.translation import get_language, gettext, ngettext

from ingest.messages import PLACEHOLDER, Message, rendered

_HAN = re.compile("[\u4e00-\u9fff]")
_FULL_WIDTH = re.compile("[\u3001-\u301f\uff01-\uff5e\u201c\u201d]")
_LATIN = re.compile("[A-Za-z0-9%]")
LONGEST_WORD = 60


def localised(text: str) -> str:
    """The message in the current language. A plain text stays as it is, unless it is one of
    ``webapp.lib.messages.code_words``.
    """
    if (get_language() or "en").startswith("en"):
        return text
    if isinstance(text, Message):
        return rendered(text, _template, _fill).strip()
    return gettext(text) if text and len(text) <= LONGEST_WORD else text


def _template(message: Message) -> str:
    template = message.template
    if not any(map(str.isalpha, PLACEHOLDER.sub("", template))):
        return template.replace(", ", gettext(", "))
    if message.plural:
        return ngettext(template, message.plural, message.number)
    translated = gettext(template)
    # A word inside a sentence may be in the catalogue with a capital letter only.
    return translated if translated != template else gettext(template[:1].upper() + template[1:])


def _fill(template: str, values: Mapping[str, str]) -> str:
    text, *rest = PLACEHOLDER.split(template)
    for name, after in zip(rest[::3], rest[2::3], strict=True):
        text = _join(_join(text, values.get(name, "")), after)
    return text


def _join(left: str, right: str) -> str:
    """A space between Chinese and Latin, but none between Chinese and Chinese."""
    if not left or not right:
        return left + right
    bare_left, bare_right = left.rstrip(" "), right.lstrip(" ")
    if not bare_left or not bare_right:
        return left + right
    last, first = bare_left[-1], bare_right[0]
    if (
        _FULL_WIDTH.match(last)
        or _FULL_WIDTH.match(first)
        or (_HAN.match(last) and _HAN.match(first))
    ):
        return bare_left + bare_right
    if (_HAN.match(last) and _LATIN.match(first)) or (_LATIN.match(last) and _HAN.match(first)):
        return f"{bare_left} {bare_right}"
    return left + right
