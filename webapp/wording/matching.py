"""Finds the form that a text has, and the values in its gaps; bounded in time, whatever the text holds."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from webapp.wording.forms import NAME, NAMES, PHRASE, Form, fits, form_of, words_of
from webapp.wording.sentences import SENTENCES

MOST_STEPS = 400
"""Places that are tried for the values of one form."""
_TWO_SENTENCES = re.compile(r"[.!?] [A-Z]")

Values = dict[str, str]


class Forms:
    """All forms, found by the rarest of the words that each of them always has."""

    def __init__(self, sentences: Sequence[tuple[str, str]]) -> None:
        forms = [form_of(msgid, kinds) for msgid, kinds in sentences]
        self.constants = {form.msgid for form in forms if not form.gaps}
        with_gaps = [form for form in forms if form.gaps]
        times = Counter(word for form in with_gaps for word in set(form.words))
        self._by_word: dict[str, list[Form]] = defaultdict(list)
        for form in with_gaps:
            if form.words:
                self._by_word[min(form.words, key=times.__getitem__)].append(form)

    def of(self, text: str, *, across_sentences: bool = False) -> tuple[Form, Values] | None:
        """The heaviest form of the whole text. A name is not taken for several sentences unless ``across_sentences``."""
        candidates = [form for word in words_of(text) for form in self._by_word.get(word, ())]
        for form in sorted(candidates, key=lambda one: -one.weight):
            values = values_in(text, form)
            if values is not None and (across_sentences or not _spans_sentences(form, values)):
                return form, values
        return None


def _spans_sentences(form: Form, values: Values) -> bool:
    return any(kind in (NAME, NAMES) and _TWO_SENTENCES.search(values[gap]) for gap, kind in zip(form.gaps, form.kinds, strict=True))


def values_in(text: str, form: Form) -> Values | None:
    """None where the text has not this form. Where a last phrase is none, the space before it may be missing."""
    found = _values(text, form.parts, form.kinds)
    if found is None and form.kinds[-1] == PHRASE and not form.parts[-1] and len(form.gaps) > 1:
        shorter = (*form.parts[:-2], form.parts[-2].rstrip())
        found = _values(text, shorter, form.kinds[:-1])
        found = None if found is None else [*found, ""]
    elif found is None and form.kinds == PHRASE and not form.parts[-1] and text == form.parts[0].rstrip():
        found = [""]
    return None if found is None else dict(zip(form.gaps, found, strict=True))


def _values(text: str, parts: Sequence[str], kinds: str) -> list[str] | None:
    first, last = parts[0], parts[-1]
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return None
    steps = [MOST_STEPS]
    return _fill(text[len(first) : len(text) - len(last)], parts[1:-1], kinds, steps)


def _fill(text: str, between: Sequence[str], kinds: str, steps: list[int]) -> list[str] | None:
    """Values of all gaps, in a text that begins with the first of them and ends with the last."""
    if not between:
        return [text] if fits(kinds[0], text) else None
    for end in _ends(text, between[0], kinds):
        steps[0] -= 1
        if steps[0] < 0:
            return None
        if fits(kinds[0], text[:end]):
            rest = _fill(text[end + len(between[0]) :], between[1:], kinds[1:], steps)
            if rest is not None:
                return [text[:end], *rest]
    return None


def _ends(text: str, part: str, kinds: str) -> Iterator[int]:
    """Where the first value may end: before the part that follows it; of two values side by side, where words of the second may begin."""
    if part:
        end = text.find(part)
        while end >= 0:
            yield end
            end = text.find(part, end + 1)
        return
    if kinds[0] == PHRASE:
        yield 0
        yield from (place.end() for place in re.finditer(r" ", text))
        yield len(text)
    else:
        yield from (place.start() for place in re.finditer(r"[ ,;:(]", text) if place.start())
        yield len(text)


FORMS = Forms(SENTENCES)
