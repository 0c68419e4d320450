"""Extracts messages marked for translation, with Django's template parser and Python's."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from django.template import Context, Engine
from django.template.base import Lexer, TokenType
from django.templatetags.i18n import BlockTranslateNode, TranslateNode

_IN_TAGS = re.compile(r"""(?<![\w.])_\((?:"([^"]*)"|'([^']*)')\)""")
_TEXT_TAG = re.compile(r'^(?:blank|panel|table|text|th) "([^"]+)"')
_TAG_OPTION = re.compile(r'^(?:panel|th) .*\b(?:note|title)="([^"]+)"')
_PLAIN = {"_", "gettext", "gettext_lazy", "gettext_noop", "message"}
_COUNTED = {"ngettext", "ngettext_lazy", "ngettext_noop", "plural"}
_IN_CONTEXT = {"pgettext", "pgettext_lazy"}
_COUNTED_IN_CONTEXT = {"npgettext", "npgettext_lazy"}
_DECLARED: dict[str, tuple[int | str, ...]] = {
    "Badge": (0,),
    "Control": (1, 2),
    "DrawnColumn": (1,),
    "MenuEntry": (0, "counts"),
}
"""Class → positions and names of its arguments that pages show."""
_IN_ANALYSES: dict[str, tuple[int | str, ...]] = {
    "Action": (1,),
    "Advice": (1,),
    "Chart": (1, 2, 3, "note", "subtitle"),
    "Column": (1, 3, "meaning"),
    "Fact": (1, 4, "note"),
    "NotKnown": (0,),
    "Note": (0,),
    "Table": (1, "subtitle", "note", "empty"),
    "Table.of": (2, "subtitle", "note", "empty"),
    "Verdict": (1,),
    "analysis": ("title", "summary"),
}
"""The same in modules that use documents of analyses."""
_CALLS = _PLAIN | _COUNTED | _IN_CONTEXT | _COUNTED_IN_CONTEXT


class NoPlainText(Exception):
    """A marked text is composed at run time, so no catalogue can contain it."""


@dataclass
class Message:
    """An English text and the files that contain it. Empty: no plural, no context."""

    text: str
    plural: str = ""
    context: str = ""
    paths: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str]:
        return self.context, self.text


def messages_in_template(path: str, source: str) -> Iterator[Message]:
    template = Engine.get_default().from_string(source)
    # Django passes these types to isinstance(), which accepts tuples too.
    node_types: Any = (TranslateNode, BlockTranslateNode)
    for node in template.nodelist.get_nodes_by_type(node_types):
        message = (
            _block_texts(node)
            if isinstance(node, BlockTranslateNode)
            else _tag_texts(cast(TranslateNode, node))
        )
        if message is not None:
            yield Message(*message, [path])
    for token in Lexer(source).tokenize():
        if token.token_type in (TokenType.VAR, TokenType.BLOCK):
            for pattern in (_TEXT_TAG, _TAG_OPTION):
                if match := pattern.match(token.contents):
                    yield Message(match[1], paths=[path])
            for match in _IN_TAGS.finditer(token.contents):
                yield Message(_double(match[1] or match[2] or ""), paths=[path])


def _tag_texts(node: TranslateNode) -> tuple[str, str, str] | None:
    """(text, plural, context); None for a variable, whose values are marked in their declaration."""
    text = getattr(node.filter_expression.var, "literal", None)
    return (_double(text), "", _context(node)) if isinstance(text, str) else None


def _block_texts(node: BlockTranslateNode) -> tuple[str, str, str]:
    text, _ = node.render_token_list(node.singular)
    plural = node.render_token_list(node.plural)[0] if node.plural else ""
    return text, plural, _context(node)


def _context(node: TranslateNode | BlockTranslateNode) -> str:
    return str(node.message_context.resolve(Context())) if node.message_context else ""


def _double(text: str) -> str:
    """Django looks up plain texts with doubled ``%``, since placeholders begin with it."""
    return text.replace("%", "%%")


def messages_in_code(path: str, source: str) -> Iterator[Message]:
    """Raise :class:`NoPlainText` for f-strings."""
    if not any(
        name in source
        for name in ("gettext", "_(", "message(", "plural(", "marked(", "analyses.d", *_DECLARED)
    ):
        return
    declared = _DECLARED | (_IN_ANALYSES if "from webapp.analyses.d" in source else {})
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        # of a function, or of a method
        name = getattr(call.func, "id", "") or getattr(call.func, "attr", "")
        if name == "of":
            name = ast.unparse(call.func)
        for text in _declared_texts(call, declared.get(name, ())):
            yield Message(text, paths=[path])
        if name == "marked":
            yield from (Message(text, paths=[path]) for text in _plain_arguments(call))
        if name not in _CALLS:
            continue
        if any(isinstance(argument, ast.JoinedStr) for argument in call.args):
            raise NoPlainText(
                f"{path}:{call.lineno}: {name}() of an f-string; use a plain text with %(name)s"
            )
        if message := _call_texts(name, _plain_arguments(call)):
            yield Message(*message, [path])


def _plain_arguments(call: ast.Call) -> list[str]:
    return [
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


def _declared_texts(call: ast.Call, places: Iterable[int | str]) -> Iterator[str]:
    by_name = {keyword.arg: keyword.value for keyword in call.keywords}
    arguments = dict(enumerate(call.args)) | by_name
    for place in places:
        yield from (text for text in _words_of(arguments.get(place)) if text)


def _words_of(node: ast.AST | None) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*_words_of(node.body), *_words_of(node.orelse))
    elif isinstance(node, ast.List | ast.Tuple):
        for option in node.elts:
            if isinstance(option, ast.Tuple) and len(option.elts) == 2:
                yield from _words_of(option.elts[1])


def _call_texts(name: str, texts: list[str]) -> tuple[str, str, str] | None:
    """(text, plural, context); None for a variable, whose values are marked in their declaration."""
    if name in _PLAIN and len(texts) == 1:
        return texts[0], "", ""
    if name in _COUNTED and len(texts) == 2:
        return texts[0], texts[1], ""
    if name in _IN_CONTEXT and len(texts) == 2:
        return texts[1], "", texts[0]
    if name in _COUNTED_IN_CONTEXT and len(texts) == 3:
        return texts[1], texts[2], texts[0]
    return None
