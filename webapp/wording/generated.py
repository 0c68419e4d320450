"""Writes ``sentences.py``, so that what code says is known without reading all of it again."""

from collections.abc import Iterable

from webapp.config.environment import PROJECT_DIR
from webapp.wording.extraction import sources, stand_ins, stored_sentences
from webapp.wording.threshold_names import all_words

PATH = PROJECT_DIR / "webapp" / "wording" / "sentences.py"
_HEAD = '''"""By `manage.py stored_sentences`: each sentence of code that knows no Django, with the kinds of its values (forms.py)."""
# ruff: noqa: E501
# fmt: off

from django.utils.translation import gettext_noop, pgettext_lazy

SENTENCES: tuple[tuple[str, str], ...] = (
'''
OF_LISTS = (", ", "{names} and {count} more")


def text() -> str:
    known = sources()
    lines = _lines(stored_sentences(known).items())
    lists = [f"gettext_noop({_quoted(one)})\n" for one in OF_LISTS]
    instead = ", ".join(_quoted(one) for one in stand_ins(known))
    thresholds = [f'    {_quoted(one)}: pgettext_lazy("threshold", {_quoted(one)}),\n' for one in all_words()]
    return f"{_HEAD}{lines})\n{''.join(lists)}STAND_INS = frozenset({{{instead}}})\nTHRESHOLD_NAMES = {{\n{''.join(thresholds)}}}\n"


def _lines(sentences: Iterable[tuple[str, str]]) -> str:
    return "".join(f"    (gettext_noop({_quoted(msgid)}), {_quoted(kinds)}),\n" for msgid, kinds in sentences)


def _quoted(text: str) -> str:
    """As the formatter writes it: between double quotes, unless it has some."""
    escaped = text.replace("\\", "\\\\")
    return f"'{escaped}'" if '"' in text and "'" not in text else '"' + escaped.replace('"', '\\"') + '"'
