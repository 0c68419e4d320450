"""Expressions of a plan over the rows of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.connect.proto import expressions_pb2 as pb
from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type

from spark_jobs.in_process.functions import AGGREGATES, SCALAR, cast
from spark_jobs.in_process.values import (
    BYTES,
    DOUBLE,
    FLAG,
    INSTANT,
    INT,
    LONG,
    NOTHING,
    TEXT,
    Table,
    Unsupported,
    Values,
    arrow_type,
    hashable,
    order_key,
    parsed_type,
)

_LITERALS = {"boolean": FLAG, "integer": INT, "long": LONG, "double": DOUBLE, "string": TEXT, "binary": BYTES, "timestamp": INSTANT}


@dataclass(frozen=True)
class Scope:
    """The rows that an expression is evaluated for.

    ``at`` names the row of ``table`` for each value wanted, None: all of them in order. ``groups`` of rows of ``grouped``
    are what aggregates see, one for each row of ``table``.
    """

    table: Table
    at: Sequence[int] | None = None
    variables: Mapping[str, Values] = field(default_factory=dict)
    grouped: Table | None = None
    groups: Sequence[Sequence[int]] = ()

    @property
    def rows(self) -> int:
        return self.table.rows if self.at is None else len(self.at)


def evaluate(expression: pb.Expression, scope: Scope) -> Values:
    kind = expression.WhichOneof("expr_type")
    match kind:
        case "literal":
            type_, value = _literal(expression.literal)
            return Values(type_, [value] * scope.rows)
        case "unresolved_attribute":
            return _attribute(expression.unresolved_attribute.unparsed_identifier, scope)
        case "alias":
            return evaluate(expression.alias.expr, scope)
        case "cast":
            return _cast(expression.cast, scope)
        case "unresolved_extract_value":
            return _extracted(expression.unresolved_extract_value, scope)
        case "unresolved_named_lambda_variable":
            return scope.variables[_variable(expression.unresolved_named_lambda_variable)]
        case "window":
            return _windowed(expression.window, scope)
        case "unresolved_function":
            return _called(expression.unresolved_function, scope)
    raise Unsupported(f"the expression {kind}")


def name_of(expression: pb.Expression) -> str:
    """The name of the column that a select makes of it."""
    kind = expression.WhichOneof("expr_type")
    if kind == "alias":
        return str(expression.alias.name[0])
    if kind == "unresolved_attribute":
        return _parts(expression.unresolved_attribute.unparsed_identifier)[-1]
    if kind == "unresolved_extract_value":
        return str(_literal(expression.unresolved_extract_value.extraction.literal)[1])
    return name_of(expression.cast.expr) if kind == "cast" else ""


def order_of(orders: Sequence[Any], scope: Scope, rows: Sequence[int]) -> list[int]:
    """``rows`` sorted; those that are alike keep their order."""
    ordered = list(rows)
    for order in reversed(orders):
        keys = evaluate(order.child, scope).values
        descending = order.direction == pb.Expression.SortOrder.SORT_DIRECTION_DESCENDING
        last = order.null_ordering == pb.Expression.SortOrder.SORT_NULLS_LAST
        if last != descending:
            raise Unsupported("an order that puts nulls elsewhere than Spark does")
        places = [order_key(key) for key in keys]
        ordered.sort(key=places.__getitem__, reverse=descending)
    return ordered


def group_rows(keys: Sequence[Values], rows: int) -> list[list[int]]:
    """Rows with the same values; nulls are the same, too."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for row in range(rows):
        groups.setdefault(tuple(hashable(key.values[row]) for key in keys), []).append(row)
    return list(groups.values())


def _literal(literal: pb.Expression.Literal) -> tuple[pa.DataType, Any]:
    kind = literal.WhichOneof("literal_type")
    if kind == "null":
        type_ = literal.null if literal.null.WhichOneof("kind") else literal.data_type
        return (arrow_type(proto_schema_to_pyspark_data_type(type_)) if type_.WhichOneof("kind") != "null" else NOTHING), None
    if kind in ("byte", "short"):
        return INT, getattr(literal, kind)
    if kind == "decimal":
        return DOUBLE, float(literal.decimal.value)
    if kind not in _LITERALS:
        raise Unsupported(f"a literal {kind}")
    return _LITERALS[kind], getattr(literal, kind)


def _parts(name: str) -> list[str]:
    if "`" in name:
        raise Unsupported(f"the quoted name {name}")
    return name.split(".")


def _attribute(name: str, scope: Scope) -> Values:
    first, *rest = _parts(name)
    place = scope.table.find(first)
    if place is None and rest:
        place, rest = scope.table.find(rest[0], first), rest[1:]
    if place is None:
        raise Unsupported(f"There is no column {name} among {', '.join(scope.table.names)}.")
    column = scope.table.columns[place]
    found = column if scope.at is None else column.take(scope.at)
    for member in rest:
        found = _member(found, member)
    return found


def _member(of: Values, name: str) -> Values:
    if not pa.types.is_struct(of.type):
        raise Unsupported(f"a member {name} of {of.type}")
    return Values(of.type.field(name).type, [None if value is None else value[name] for value in of.values])


def _extracted(extract: pb.Expression.UnresolvedExtractValue, scope: Scope) -> Values:
    return _member(evaluate(extract.child, scope), _literal(extract.extraction.literal)[1])


def _cast(given: pb.Expression.Cast, scope: Scope) -> Values:
    of, attempt = evaluate(given.expr, scope), given.eval_mode == pb.Expression.Cast.EVAL_MODE_TRY
    named = given.WhichOneof("cast_to_type") == "type_str"
    type_ = arrow_type(parsed_type(given.type_str) if named else proto_schema_to_pyspark_data_type(given.type))
    return Values(type_, [cast(value, of.type, type_, attempt) for value in of.values])


def _variable(variable: pb.Expression.UnresolvedNamedLambdaVariable) -> str:
    return str(variable.name_parts[0])


def _called(call: pb.Expression.UnresolvedFunction, scope: Scope) -> Values:
    name, arguments = call.function_name.lower(), call.arguments
    if name in AGGREGATES:
        return _aggregated(name, call, scope)
    if name in ("transform", "filter", "exists"):
        return _over_elements(name, arguments, scope)
    if name == "monotonically_increasing_id":
        return Values(LONG, range(scope.rows))
    if name == "struct":
        names, members = [name_of(argument) for argument in arguments], [evaluate(argument, scope) for argument in arguments]
        rows = zip(*(member.values for member in members), strict=True)
        type_ = pa.struct([pa.field(name, member.type) for name, member in zip(names, members, strict=True)])
        return Values(type_, [dict(zip(names, row, strict=True)) for row in rows])
    if name not in SCALAR:
        raise Unsupported(f"the function {call.function_name}")
    function, given = SCALAR[name], [evaluate(argument, scope) for argument in arguments]
    result = function.result([one.type for one in given])
    if not given:
        return Values(result, [function.call() for _ in range(scope.rows)])
    rows = zip(*(one.values for one in given), strict=True)
    if function.strict:
        return Values(result, [None if None in row else function.call(*row) for row in rows])
    return Values(result, [function.call(*row) for row in rows])


def _over_elements(name: str, arguments: Sequence[pb.Expression], scope: Scope) -> Values:
    """The function is evaluated once over the elements of all arrays."""
    arrays, body = evaluate(arguments[0], scope), arguments[1].lambda_function
    if len(body.arguments) != 1:
        raise Unsupported(f"{name} with the place of an element")
    rows = [row for row, array in enumerate(arrays.values) for _ in array or ()]
    elements = Values(arrays.type.value_type, [element for array in arrays.values for element in array or ()])
    inner = replace(
        scope,
        at=rows if scope.at is None else [scope.at[row] for row in rows],
        variables={**{key: value.take(rows) for key, value in scope.variables.items()}, _variable(body.arguments[0]): elements},
    )
    answered = evaluate(body.function, inner)
    answers: list[list[tuple[Any, Any]]] = [[] for _ in arrays.values]
    for row, element, answer in zip(rows, elements.values, answered.values, strict=True):
        answers[row].append((element, answer))
    if name == "transform":
        return Values(pa.list_(answered.type), _where_array(arrays, [[answer for _, answer in row] for row in answers]))
    if name == "filter":
        return Values(arrays.type, _where_array(arrays, [[element for element, answer in row if answer] for row in answers]))
    return Values(FLAG, _where_array(arrays, [SCALAR["or"].call(False, *(answer for _, answer in row)) for row in answers]))


def _where_array(arrays: Values, results: Sequence[Any]) -> list[Any]:
    return [None if array is None else result for array, result in zip(arrays.values, results, strict=True)]


def _aggregated(name: str, call: pb.Expression.UnresolvedFunction, scope: Scope) -> Values:
    if scope.grouped is None:
        raise Unsupported(f"{name} outside of a group")
    rows = Scope(scope.grouped)
    given = [
        Values(LONG, [1] * rows.rows) if argument.WhichOneof("expr_type") == "unresolved_star" else evaluate(argument, rows)
        for argument in call.arguments
    ]
    function, values = AGGREGATES[name], []
    for group in scope.groups:
        found = [tuple(one.values[row] for one in given) for row in group]
        if not function.nulls:
            found = [row for row in found if not any(value is None for value in row)]
        if call.is_distinct:
            found = list({hashable(list(row)): row for row in found}.values())
        values.append(function.call(found))
    return Values(function.result([one.type for one in given]), values)


def _windowed(window: pb.Expression.Window, scope: Scope) -> Values:
    call = window.window_function.unresolved_function
    keys = [evaluate(key, scope) for key in window.partition_spec]
    values: list[Any] = [None] * scope.rows
    lagged = evaluate(call.arguments[0], scope) if call.function_name == "lag" else None
    if call.function_name not in ("lag", "row_number") or window.HasField("frame_spec"):
        raise Unsupported(f"{call.function_name} over a window")
    if lagged is not None and (len(call.arguments) > 2 or _literal(call.arguments[1].literal)[1] != 1):
        raise Unsupported("lag by other than one row")
    for group in group_rows(keys, scope.rows):
        before = None
        for number, row in enumerate(order_of(window.order_spec, scope, group), start=1):
            values[row] = number if lagged is None else (None if before is None else lagged.values[before])
            before = row
    return Values(INT if lagged is None else lagged.type, values)
