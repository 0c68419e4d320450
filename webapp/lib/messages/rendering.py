import re
from collections.abc import Mapping

from django.utils.translation import get_language, gettext, ngettext

from ingest.messages import PLACEHOLDER, Message, rendered

_HAN = re.compile("[\u4e00-\u9fff]")
_FULL_WIDTH = re.compile("[\u3001-\u301f\uff01-\uff5e\u201c\u201d]")
_LATIN = re.compile("[A-Za-z0-9%]")
LONGEST_WORD = 60


def localised(text: str) -> str:
    """The message in the current language. A plain text stays, unless it is a word of a catalogue
    (``webapp.lib.messages.code_words``).
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
    # Words inside a sentence were declared with a capital letter.
    return translated if translated != template else gettext(template[:1].upper() + template[1:])


def _fill(template: str, values: Mapping[str, str]) -> str:
    before, *rest = PLACEHOLDER.split(template)
    shown = before
    for name, after in zip(rest[::3], rest[2::3], strict=True):
        shown = _beside(_beside(shown, values.get(name, "")), after)
    return shown


def _beside(left: str, right: str) -> str:
    if not left or not right:
        return left + right
    bare_left, bare_right = left.rstrip(" "), right.lstrip(" ")
    if not bare_left or not bare_right:
        return left + right
    ends, begins = bare_left[-1], bare_right[0]
    if (
        _FULL_WIDTH.match(ends)
        or _FULL_WIDTH.match(begins)
        or (_HAN.match(ends) and _HAN.match(begins))
    ):
        return bare_left + bare_right
    if (_HAN.match(ends) and _LATIN.match(begins)) or (_LATIN.match(ends) and _HAN.match(begins)):
        return f"{bare_left} {bare_right}"
    return left + right
