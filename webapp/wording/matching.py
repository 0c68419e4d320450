"""Finds the form that a text has, and the values in its gaps; bounded in time, whatever the text holds."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from functools import lru_cache

from webapp.wording.forms import FIGURE, FOREIGN, NAME, NAMES, NUMBER, PHRASE, Form, fits, form_of, words_of
from webapp.wording.sentences import SENTENCES

MOST_STEPS = 400
"""Places that are tried for the values of one form."""
SENTENCE_END = re.compile(r"(?<=[.!?]) (?=\S)")
COUNTED = re.compile(r"([\d,]+) ([a-z][a-z' -]*)")
_TWO_SENTENCES = re.compile(r"[.!?] [A-Z]")
_ONE_WORD = re.compile(r"\S+(?: \([\d,]+\))?")
_MORE = re.compile(r"(?s)(.+) and ([\d,]+) more")
_LIGHT = 14
"""Letters of a form of which too few are always the same to take names of several words for its values."""
_LONGEST_PHRASE = 1_000

Values = dict[str, str]
Knows = Callable[[str], bool]


class Forms:
    """All forms, found by the rarest of the words that each of them always has."""

    def __init__(self, sentences: Sequence[tuple[str, str]]) -> None:
        forms = [form_of(msgid, kinds) for msgid, kinds in sentences]
        self.constants = {form.msgid for form in forms if not form.gaps}
        self.counted = {form.msgid for form in forms if form.msgid.startswith("{count} ")}
        with_gaps = [form for form in forms if form.gaps]
        times = Counter(word for form in with_gaps for word in set(form.words))
        self._by_word: dict[str, list[Form]] = defaultdict(list)
        for form in with_gaps:
            if form.words:
                self._by_word[min(form.words, key=times.__getitem__)].append(form)

    def of(self, text: str, *, lax: bool = False) -> tuple[Form, Values] | None:
        """The heaviest form of the whole text. Unless ``lax``, phrases in its gaps have to be known, and no name runs over sentences."""
        candidates = [form for word in words_of(text) for form in self._by_word.get(word, ())]
        for form in sorted(candidates, key=lambda one: -one.weight):
            values = values_in(text, form, self.knows)
            if values is not None and ((lax and form.weight >= _LIGHT) or self._is_sure(form, values)):
                return form, values
        return None

    def knows(self, text: str) -> bool:
        """Whether a phrase is one of ours, or several."""
        return all(map(self._knows_one, SENTENCE_END.split(text.strip()))) or self._knows_one(text.strip())

    @lru_cache(maxsize=8_192)  # noqa: B019  # one instance, which lasts as long as the process
    def _knows_one(self, text: str) -> bool:
        known = (
            fits(NUMBER, text)
            or fits(FIGURE, text)
            or is_counted(text, self.counted)
            or any(map(self.constants.__contains__, spellings(text)))
        )
        return known or (len(text) <= _LONGEST_PHRASE and any(self.of(one) is not None for one in spellings(text)))

    def _is_sure(self, form: Form, values: Values) -> bool:
        return all(self._is_sure_value(form, kind, values[gap]) for gap, kind in zip(form.gaps, form.kinds, strict=True))

    def _is_sure_value(self, form: Form, kind: str, value: str) -> bool:
        if kind == PHRASE:
            return not value.strip() or self.knows(value) or all(map(self.knows, listed(value)[0]))
        if kind == NAMES:
            return all(map(is_one_word, listed(value)[0])) or (form.weight >= _LIGHT and not _TWO_SENTENCES.search(value))
        return kind != NAME or not (_TWO_SENTENCES.search(value) or (form.weight < _LIGHT and " " in value))


def spellings(text: str) -> tuple[str, ...]:
    """As it is, and with its first letter small or large."""
    return tuple(dict.fromkeys((text, text[:1].lower() + text[1:], text[:1].upper() + text[1:])))


def listed(value: str) -> tuple[list[str], str | None]:
    """Items of ``a, b and 4 more``, and how many more there are."""
    more = _MORE.fullmatch(value)
    return [piece for part in (more[1] if more else value).split(", ") for piece in part.split(" and ")], more[2] if more else None


def is_one_word(item: str) -> bool:
    """A name without a space, or how often that is so of it: ``parse (2)``."""
    return _ONE_WORD.fullmatch(item) is not None


def is_counted(text: str, counted: Container[str]) -> bool:
    """``1 checkpoint``, ``3 checkpoints``."""
    match = COUNTED.fullmatch(text)
    return match is not None and any(f"{{count}} {noun}" in counted for noun in (match[2], f"{match[2]}s"))


def values_in(text: str, form: Form, knows: Knows) -> Values | None:
    """None where the text has not this form. Where a last phrase is none, the space before it may be missing."""
    found = _values(text, form.parts, form.kinds, knows)
    if found is None and form.kinds[-1] == PHRASE and not form.parts[-1] and len(form.gaps) > 1:
        shorter = (*form.parts[:-2], form.parts[-2].rstrip())
        found = _values(text, shorter, form.kinds[:-1], knows)
        found = None if found is None else [*found, ""]
    elif found is None and form.kinds == PHRASE and not form.parts[-1] and text == form.parts[0].rstrip():
        found = [""]
    return None if found is None else dict(zip(form.gaps, found, strict=True))


def _values(text: str, parts: Sequence[str], kinds: str, knows: Knows) -> list[str] | None:
    first, last = parts[0], parts[-1]
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return None
    steps = [MOST_STEPS]
    return _fill(text[len(first) : len(text) - len(last)], parts[1:-1], kinds, knows, steps, beside=False)


def _fill(text: str, between: Sequence[str], kinds: str, knows: Knows, steps: list[int], *, beside: bool) -> list[str] | None:
    """Values of all gaps, in a text that begins with the first of them and ends with the last; ``beside`` another value."""
    if not between:
        return [text] if fits(kinds[0], text) and _may_stand(kinds[0], text, knows, beside=beside) else None
    beside = beside or not between[0].strip()
    for end in _ends(text, between):
        steps[0] -= 1
        if steps[0] < 0:
            return None
        if fits(kinds[0], text[:end]) and _may_stand(kinds[0], text[:end], knows, beside=beside):
            unbounded = not between[0].strip() or kinds[0] == FOREIGN or (beside and kinds[1] == FOREIGN)
            rest = _fill(text[end + len(between[0]) :], between[1:], kinds[1:], knows, steps, beside=unbounded)
            if rest is not None:
                return [text[:end], *rest]
    return None


def _may_stand(kind: str, value: str, knows: Knows, *, beside: bool) -> bool:
    """Where two values stand side by side, or after what others said, words of ours have to be known: nothing else says where one ends."""
    return kind != PHRASE or not beside or not value.strip() or knows(value)


def _ends(text: str, between: Sequence[str]) -> Iterator[int]:
    """Where the first value may end: before the part that follows it; of two side by side, where words begin or the next part does."""
    if between[0]:
        end = text.find(between[0])
        while end >= 0:
            yield end
            end = text.find(between[0], end + 1)
        return
    yield from sorted({0, *(at for place in re.finditer(r"[ ,;:(]", text) for at in (place.start(), place.end()))})
    following = next((part for part in between if part), None)
    if following:
        yield from (place.start() for place in re.finditer(re.escape(following), text))
    else:
        yield len(text)


FORMS = Forms(SENTENCES)
