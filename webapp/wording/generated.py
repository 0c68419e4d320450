"""Writes ``sentences.py``, so that what code says is known without reading all of it again, and ``retired.py``, what it says no more."""

import re
from collections.abc import Iterable, Sequence

from django.conf import settings
from django.utils.translation import gettext, override

from webapp.config.environment import PROJECT_DIR
from webapp.wording.extraction import sources, stand_ins, stored_sentences
from webapp.wording.threshold_names import all_words

PATH = PROJECT_DIR / "webapp" / "wording" / "sentences.py"
RETIRED_PATH = PATH.with_name("retired.py")
Sentences = Sequence[tuple[str, str]]
"""Messages, with the kinds of their values."""
_HEAD = '''"""By `manage.py stored_sentences`: each sentence of code that knows no Django, with the kinds of its values (forms.py)."""
# ruff: noqa: E501
# fmt: off

from django.utils.translation import gettext_noop, pgettext_lazy

SENTENCES: tuple[tuple[str, str], ...] = (
'''
_HEAD_OF_RETIRED = '''"""By `manage.py stored_sentences`: sentences that code no longer has, and stored findings and reports do.

A line may be removed by hand once nothing that is stored can hold it.
"""
# ruff: noqa: E501
# fmt: off

from django.utils.translation import gettext_noop

RETIRED: tuple[tuple[str, str], ...] = (
'''
OF_LISTS = (", ", "{names} and {count} more")


def text() -> str:
    known = sources()
    lines = _lines(stored_sentences(known).items())
    lists = [f"gettext_noop({_quoted(one)})\n" for one in OF_LISTS]
    instead = ", ".join(_quoted(one) for one in stand_ins(known))
    thresholds = [f'    {_quoted(one)}: pgettext_lazy("threshold", {_quoted(one)}),\n' for one in all_words()]
    return f"{_HEAD}{lines})\n{''.join(lists)}STAND_INS = frozenset({{{instead}}})\nTHRESHOLD_NAMES = {{\n{''.join(thresholds)}}}\n"


def retired_text(former: Sentences, retired: Sentences) -> str:
    """``former`` and ``retired``: what both files hold. Of what code says no more, all stays that is translated: the rest, as wordings that
    were tried and dropped, was never shown in another language."""
    said = {_form(msgid) for msgid in stored_sentences(sources())}
    kept = {**dict(retired), **{msgid: kinds for msgid, kinds in former if _is_translated(msgid)}}
    return f"{_HEAD_OF_RETIRED}{_lines(sorted((msgid, kinds) for msgid, kinds in kept.items() if _form(msgid) not in said))})\n"


def _form(msgid: str) -> str:
    """Whatever its gaps are called."""
    return re.sub(r"\{\w+\}", "{}", msgid)


def _is_translated(msgid: str) -> bool:
    for language, _ in settings.LANGUAGES:
        with override(language):
            if gettext(msgid) != msgid:
                return True
    return False


def _lines(sentences: Iterable[tuple[str, str]]) -> str:
    return "".join(f"    (gettext_noop({_quoted(msgid)}), {_quoted(kinds)}),\n" for msgid, kinds in sentences)


def _quoted(text: str) -> str:
    """As the formatter writes it: between double quotes, unless it has some."""
    escaped = text.replace("\\", "\\\\")
    return f"'{escaped}'" if '"' in text and "'" not in text else '"' + escaped.replace('"', '\\"') + '"'
