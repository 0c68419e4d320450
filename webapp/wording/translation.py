"""A stored English text in the language of whoever reads it. What nothing is known of stays as it is, and so do names that others gave."""

import re
from collections.abc import Iterable
from functools import lru_cache

from django.utils.translation import get_language, gettext

from webapp.wording.forms import FOREIGN, NAME, NAMES, NUMBER, PHRASE, fits, put_in
from webapp.wording.matching import COUNTED, FORMS, SENTENCE_END, is_one_word, listed, spellings
from webapp.wording.sentences import STAND_INS

MOST_LETTERS = 6_000
MOST_DEPTH = 6
_CLAUSE_END = re.compile(r"(?<=\S)(?=[;,] )|(?<=[:,;]) (?=\S)|(?<=\S) (?=\()")
_MOST_CLAUSES = 12
_MARKS = {";": "；", ",": "，", ":": "："}
_OWN_NAME = re.compile(r"(?:checkpoint|savepoint) \d+")
_FIRST_MARK = 0xE000
_MOST_NAMES = 0x1800
_MARK = re.compile("[\ue000-\uf7ff]")


def translated(text: str, names: Iterable[str] = ()) -> str:
    """``names``: those that the text may hold; none of their letters is taken for words of ours."""
    language = get_language() or "en"
    if language.startswith("en") or not text or len(text) > MOST_LETTERS or _MARK.search(text):
        return text
    return _translated(
        language,
        text,
        tuple(sorted({one for one in names if " " in one and one in text and not _OWN_NAME.fullmatch(one)}, key=len, reverse=True)),
    )


def unit_text(unit: str) -> str:
    """What is counted, without a number: of a form ``{count} checkpoints``."""
    message = gettext(form) if (form := f"{{count}} {unit}") in FORMS.counted else ""
    return message.replace("{count}", "").strip() if message and message != form else translated(unit)


@lru_cache(maxsize=8_192)
def _translated(language: str, text: str, names: tuple[str, ...]) -> str:
    marked = text
    for number, name in enumerate(names[:_MOST_NAMES]):
        marked = marked.replace(name, chr(_FIRST_MARK + number))
    found = _text(marked, 0)
    if found is None and marked != text:
        return _text(text, 0) or text
    return text if found is None else _MARK.sub(lambda mark: names[ord(mark[0]) - _FIRST_MARK], found)


def _text(text: str, depth: int) -> str | None:
    """None where no part of it is known."""
    bare = text.strip()
    if not bare or depth > MOST_DEPTH:
        return None
    return (
        _whole(bare, depth)
        or _by_sentences(bare, depth)
        or _by_clauses(bare, depth)
        or _whole(bare, depth, lax=True)
        or _after_name(bare, depth)
    )


def _after_name(text: str, depth: int) -> str | None:
    """``orders: checkpoints declined``: what follows a name, where it is known as a whole."""
    name, mark, rest = text.partition(": ")
    found = _whole(rest, depth + 1) if mark else None
    return f"{name}：{found}" if found else None


def _whole(text: str, depth: int, *, lax: bool = False) -> str | None:
    for spelled in spellings(text):
        if spelled in FORMS.constants:
            known = gettext(spelled)
            return known if known != spelled else None
        if counted := _counted(spelled):
            return counted
        if found := FORMS.of(spelled, lax=lax):
            form, values = found
            message = gettext(form.msgid)
            if message != form.msgid:
                kinds = dict(zip(form.gaps, form.kinds, strict=True))
                return put_in(message, {gap: _value(kinds[gap], value, depth + 1) for gap, value in values.items()})
    return None


def _counted(text: str) -> str | None:
    """``1 checkpoint``, ``3 checkpoints``."""
    if match := COUNTED.fullmatch(text):
        for noun in (match[2], f"{match[2]}s"):
            message = gettext(msgid := f"{{count}} {noun}")
            if message != msgid:
                return put_in(message, {"count": match[1]})
    return None


def _by_sentences(text: str, depth: int) -> str | None:
    """The longest beginning that is known, then what follows it; a sentence that is not known stays as it is."""
    pieces = SENTENCE_END.split(text)
    if len(pieces) < 2:
        return None
    shown: list[str] = []
    at, known = 0, False
    while at < len(pieces):
        end, said = _beginning(pieces, at, depth)
        known = known or said is not None
        shown.append(f"{' ' if shown else ''}{pieces[at]} " if said is None else said)
        at = end
    return "".join(shown).strip() if known else None


def _beginning(pieces: list[str], at: int, depth: int) -> tuple[int, str | None]:
    """Where the longest beginning that is known ends, and its translation."""
    for end in range(len(pieces) - (at == 0), at, -1):
        if found := _whole(" ".join(pieces[at:end]), depth):
            return end, found
    return at + 1, None


def _by_clauses(text: str, depth: int) -> str | None:
    """Clauses that were put together: all of them are known, or none is translated."""
    cuts = [0, *(place.start() for place in _CLAUSE_END.finditer(text)), len(text)]
    if len(cuts) < 3 or len(cuts) > _MOST_CLAUSES:
        return None
    shown: list[str] = []
    at = 0
    while at < len(cuts) - 1:
        if (mark := text[cuts[at] : cuts[at + 1]].strip()) in _MARKS:
            shown.append(_MARKS[mark])
            at += 1
            continue
        for end in range(len(cuts) - 1, at, -1):
            piece = text[cuts[at] : cuts[end]].strip()
            ends = piece[-1:] if piece[-1:] in _MARKS else ""
            if fits(NUMBER, piece.removesuffix(ends)):
                shown.append(piece.removesuffix(ends) + _MARKS.get(ends, ""))
                at = end
                break
            if (at, end) != (0, len(cuts) - 1) and (found := _whole(piece, depth) or _whole(piece.removesuffix(ends), depth)):
                shown.append(found if _whole(piece, depth) else found + _MARKS.get(ends, ""))
                at = end
                break
        else:
            return None
    return "".join(shown)


def _value(kind: str, value: str, depth: int) -> str:
    if kind == PHRASE:
        return _text(value, depth) or _several(value, depth) or value
    if kind == NAMES:
        return _names(value)
    if kind == FOREIGN:
        return _whole(value, depth) or value
    if kind == NAME and value in STAND_INS:
        return gettext(value)
    if kind != NUMBER and value.endswith(" bytes"):
        return gettext("{count} bytes").replace("{count}", value.removesuffix(" bytes"))
    return value


def _several(value: str, depth: int) -> str | None:
    """Phrases in a list, all of them known."""
    items, more = listed(value)
    known = [_whole(item, depth) for item in items]
    if len(items) < 2 or not all(known):
        return None
    return _joined([item for item in known if item], more)


def _names(value: str) -> str:
    """What stands between names is ours only where it cannot be a part of one: between marked names, numbers, or names of one word."""
    items, more = listed(value)
    if not all(map(is_one_word, items)):
        return _joined([value.removesuffix(f" and {more} more")], more) if more else value
    if len(items) < 2 and not more:
        return value
    return _joined(items, more)


def _joined(items: list[str], more: str | None) -> str:
    listed = gettext(", ").join(items)
    return gettext("{names} and {count} more").replace("{count}", more).replace("{names}", listed) if more else listed
