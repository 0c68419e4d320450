"""What kind of value a sentence's gap holds, by where the expression in the code comes from."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from webapp.wording.forms import FIGURE, FOREIGN, NAME, NAMES, NUMBER, PHRASE

_FIGURES = frozenset({"bytes_text", "ms_text", "share_text", "duration_text", "span_text", "percent_text"})
_INSTANTS = frozenset({"instant_text", "_range"})
_OF_NAMES = frozenset(
    {"brief", "brief_name", "vertex_name", "subtask_text", "named_states", "str", "int", "len", "round", "sum", "min", "max"}
)
_OF_OTHERS = frozenset({"message", "exception", "failure_message", "group"})
_FIELDS_OF_OTHERS = _OF_OTHERS | {"error", "last_error", "trouble", "expected", "found"}
"""What Flink, a storage or a file says; ``group``: failures by their exception."""
_COUNTS = frozenset({"failed", "stalled", "samples"})
"""Names that stand for a bare number wherever they are."""
_DEEPEST = 6
_RANK = {kind: rank for rank, kind in enumerate((NUMBER, FIGURE, NAME, NAMES, PHRASE, FOREIGN))}


class Sources:
    """Trees by path, with what each name of a function stands for: its definitions, and the calls of it."""

    def __init__(self, trees: dict[str, ast.Module]) -> None:
        self.trees = trees
        self.functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.constants: dict[str, ast.expr] = {}
        self.home: dict[int, ast.FunctionDef] = {}
        self._module: dict[int, ast.Module] = {}
        for tree in trees.values():
            self._module.update(dict.fromkeys(map(id, ast.walk(tree)), tree))
            for node in tree.body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    self.constants[node.targets[0].id] = node.value
            for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
                self.functions[function.name].append(function)
                self.home.update({id(node): function for node in ast.walk(function)})
            for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
                self.calls[called(call)].append(call)

    def functions_of(self, name: str, place: ast.AST) -> list[ast.FunctionDef]:
        """What ``name`` may be where ``place`` stands: a private function is one of its module."""
        return [one for one in self.functions.get(name, ()) if self._may_mean(name, one, place)]

    def calls_of(self, function: ast.FunctionDef) -> list[ast.Call]:
        return [one for one in self.calls.get(function.name, ()) if self._may_mean(function.name, function, one)]

    def _may_mean(self, name: str, one: ast.AST, other: ast.AST) -> bool:
        return not name.startswith("_") or self._module.get(id(one)) is self._module.get(id(other))


def kind_of(gap: ast.FormattedValue, known: Sources) -> str:
    if gap.format_spec is not None:
        return NUMBER
    return _kind(gap.value, known, 0)


def _kind(value: ast.expr, known: Sources, depth: int) -> str:
    if depth > _DEEPEST:
        return NAME
    if isinstance(value, ast.Constant):
        return PHRASE if isinstance(value.value, str) and any(map(str.isalpha, value.value)) else NAME
    if isinstance(value, ast.JoinedStr):
        return _of_joined(value, known, depth)
    if isinstance(value, ast.IfExp):
        return _widest(_kind(one, known, depth) for one in (value.body, value.orelse))
    if isinstance(value, ast.BoolOp):
        return _kind(value.values[0], known, depth)
    if is_filled_in(value):
        return PHRASE
    if isinstance(value, ast.BinOp):
        return _widest(_kind(one, known, depth) for one in (value.left, value.right)) if isinstance(value.op, ast.Add) else NAME
    if isinstance(value, ast.NamedExpr):
        return _kind(value.value, known, depth)
    if isinstance(value, ast.Call):
        return _of_call(value, known, depth)
    if isinstance(value, ast.Subscript):
        return _of_subscript(value, known, depth)
    if isinstance(value, ast.Name | ast.Attribute) and (value.id if isinstance(value, ast.Name) else value.attr) in _COUNTS:
        return NUMBER
    if isinstance(value, ast.Attribute) and value.attr in _FIELDS_OF_OTHERS:
        return FOREIGN
    if isinstance(value, ast.Name) and value.id in _OF_OTHERS:
        return FOREIGN
    if isinstance(value, ast.Attribute):
        properties = [one for one in known.functions_of(value.attr, value) if _is_property(one)]
        return _of_functions(properties, known, depth) or _of_field(value.attr, known, depth)
    return _of_name(value, known, depth) if isinstance(value, ast.Name) else NAME


def _of_joined(value: ast.JoinedStr, known: Sources, depth: int) -> str:
    """With words of ours a phrase; else what it is put together of."""
    if any(isinstance(part, ast.Constant) and any(map(str.isalpha, str(part.value))) for part in value.values):
        return PHRASE
    parts = [_kind(part.value, known, depth + 1) for part in value.values if isinstance(part, ast.FormattedValue)]
    return FOREIGN if FOREIGN in parts else NAME


def _of_call(call: ast.Call, known: Sources, depth: int) -> str:
    name = called(call)
    if name in _FIGURES:
        return FIGURE
    if name in _OF_NAMES:
        return NAME
    if name in _INSTANTS:
        return NAME if name == "instant_text" else FIGURE
    if name == "count_text":
        return PHRASE if len(call.args) > 1 else NUMBER
    if name in {"list_text", "join"} and call.args:
        return PHRASE if _kind(_element(_listed_in(call.args[0], known)), known, depth + 1) == PHRASE else NAMES
    if name in {"strip", "rstrip", "lstrip", "lower", "upper", "capitalize", "removesuffix", "replace"} and isinstance(
        call.func, ast.Attribute
    ):
        return _kind(call.func.value, known, depth + 1)
    return _of_functions(known.functions_of(name, call), known, depth) or NAME


def _listed_in(value: ast.expr, known: Sources) -> ast.expr:
    """The list that a name stands for, or that the function returns which made it."""
    home = known.home.get(id(value))
    if isinstance(value, ast.Name) and home is not None:
        for one in (*_assigned(home, value.id), *_given(home, value.id, known)):
            if one is not value and not isinstance(one, ast.Name | ast.Constant):
                return _listed_in(one, known)
    if isinstance(value, ast.IfExp):
        return _listed_in(value.body, known)
    if isinstance(value, ast.Call):
        for function in known.functions_of(called(value), value)[:1]:
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.ListComp | ast.List):
                    return node.value
    return value


def _element(listed: ast.expr) -> ast.expr:
    if isinstance(listed, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        return listed.elt
    if isinstance(listed, ast.List | ast.Tuple) and listed.elts:
        return listed.elts[0]
    if isinstance(listed, ast.Call) and called(listed) in {"sorted", "fromkeys", "set", "tuple", "list"} and listed.args:
        return _element(listed.args[0])
    return listed


def _of_subscript(value: ast.Subscript, known: Sources, depth: int) -> str:
    """A word of a table of words, or a part of a text."""
    if isinstance(value.value, ast.Dict):
        return _widest(_kind(one, known, depth + 1) for one in value.value.values)
    if isinstance(value.value, ast.Name) and isinstance(known.constants.get(value.value.id), ast.Dict):
        table = known.constants[value.value.id]
        return _widest(_kind(one, known, depth + 1) for one in table.values) if isinstance(table, ast.Dict) else NAME
    if isinstance(value.value, ast.Call) and called(value.value) == "splitlines" and isinstance(value.value.func, ast.Attribute):
        return _kind(value.value.func.value, known, depth + 1)
    return _kind(value.value, known, depth + 1) if isinstance(value.slice, ast.Slice) else NAME


def _is_property(function: ast.FunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id in {"property", "cached_property"} for one in function.decorator_list)


def _of_functions(functions: Iterable[ast.FunctionDef], known: Sources, depth: int) -> str:
    """What any of them returns; empty where there is none."""
    returned = [
        node.value
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Return | ast.Yield) and node.value is not None and known.home.get(id(node)) is function
    ]
    return _widest(_kind(one, known, depth + 1) for one in returned) if returned else ""


def _of_field(name: str, known: Sources, depth: int) -> str:
    """What is given to a field of this name by its keyword, anywhere."""
    if name in _ALWAYS_OURS:
        return PHRASE
    given = [word.value for calls in known.calls.values() for call in calls for word in call.keywords if word.arg == name]
    if name not in _WORDY_FIELDS:
        return NAME
    return _widest(_kind(one, known, depth + 2) for one in given) if given else PHRASE


_ALWAYS_OURS = frozenset({"rule_title", "title"})
_WORDY_FIELDS = frozenset({"sentence", "next_step", "cause", "means", "words", "text", "note", "missing", "what", "title", "rule_title"})


def _of_name(value: ast.Name, known: Sources, depth: int) -> str:
    home = known.home.get(id(value))
    if value.id == "error":
        return FOREIGN  # an exception that was caught
    if value.id == "source":
        return PHRASE  # by what a figure is known; unpacked from a pair
    if home is None:
        return _kind(known.constants[value.id], known, depth + 1) if value.id in known.constants else NAME
    assigned = [one for one in _assigned(home, value.id) if one is not value]
    if assigned:
        return _widest(_kind(one, known, depth + 1) for one in assigned)
    given = list(_given(home, value.id, known))
    if given:
        return _widest(_kind(one, known, depth + 2) for one in given)
    return _kind(known.constants[value.id], known, depth + 1) if value.id in known.constants else NAME


def _assigned(home: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(home):
        if isinstance(node, ast.NamedExpr | ast.AnnAssign | ast.AugAssign):
            if isinstance(node.target, ast.Name) and node.target.id == name and node.value:
                yield node.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=False)
                    yield from (given for one, given in pairs if isinstance(one, ast.Name) and one.id == name)


def _given(home: ast.FunctionDef, name: str, known: Sources) -> Iterator[ast.expr]:
    """What callers of this function give for its parameter."""
    places = [argument.arg for argument in (*home.args.posonlyargs, *home.args.args) if argument.arg != "self"]
    keywords = {argument.arg for argument in home.args.kwonlyargs}
    if name not in places and name not in keywords:
        return
    for call in known.calls_of(home):
        yield from (word.value for word in call.keywords if word.arg == name)
        if name in places and places.index(name) < len(call.args):
            yield call.args[places.index(name)]


def _widest(kinds: Iterator[str]) -> str:
    return max(kinds, key=_RANK.__getitem__, default=NAME)


def called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""


def is_filled_in(node: ast.AST) -> TypeGuard[ast.BinOp]:
    """``gettext("…") % {…}``."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod)
        and isinstance(node.left, ast.Call)
        and called(node.left) in {"gettext", "ngettext"}
        and isinstance(node.right, ast.Dict)
    )


def plural_of(call: ast.Call) -> Iterator[tuple[str, str]]:
    """The messages of ``count_text(n, "checkpoint")``: one and several."""
    if called(call) == "count_text" and len(call.args) == 2:
        for noun in (node.value for node in ast.walk(call.args[1]) if isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield f"{{count}} {noun}s", NUMBER


def instead_of_names(tree: ast.Module) -> Iterator[str]:
    """``name or "the slowest task"``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            last = node.values[-1]
            if isinstance(last, ast.Constant) and isinstance(last.value, str) and " " in last.value:
                yield last.value
