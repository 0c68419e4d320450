"""Relations of a plan as tables."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.connect.proto import expressions_pb2 as pe
from pyspark.sql.connect.proto import relations_pb2 as pb
from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type

from spark_jobs.in_process import files
from spark_jobs.in_process.expressions import Scope, evaluate, group_rows, name_of, order_of
from spark_jobs.in_process.values import (
    FLAG,
    TEXT,
    Table,
    Unsupported,
    Values,
    arrow_type,
    common_type,
    empty,
    from_arrow,
    hashable,
    parsed_row,
)

_GENERATORS = ("explode", "posexplode")
MOST_ROWS = 2_000_000
"""Of any table: more have no place in one process."""


@dataclass
class Relations:
    """What was evaluated stays, by the number that the client gives each frame."""

    _known: dict[int, Table] = field(default_factory=dict)

    def table(self, relation: pb.Relation) -> Table:
        number = relation.common.plan_id
        if number not in self._known:
            kind = relation.WhichOneof("rel_type")
            if kind not in _KINDS:
                raise Unsupported(f"the relation {kind}")
            self._known[number] = _KINDS[kind](self, getattr(relation, kind))
        return self._known[number]


def _read(relations: Relations, read: pb.Read) -> Table:
    source = read.data_source
    if source.format != "parquet":
        raise Unsupported(f"reading {source.format or 'a named table'}")
    return files.read(source.paths, source.schema, source.options)


def _local(relations: Relations, local: pb.LocalRelation) -> Table:
    schema = parsed_row(local.schema)
    if not local.data:
        return empty(schema)
    with pa.ipc.open_stream(local.data) as stream:
        given = stream.read_all()
    wanted = [arrow_type(one.dataType) for one in schema.fields]
    columns = [column.cast(type_) for column, type_ in zip(given.columns, wanted, strict=True)]
    return from_arrow(pa.Table.from_arrays(columns, names=schema.fieldNames()))


def _project(relations: Relations, project: pb.Project) -> Table:
    source = relations.table(project.input)
    for expression in project.expressions:
        generator = _inner(expression).unresolved_function
        if generator.function_name in _GENERATORS:
            return _generated(source, project.expressions, expression, generator)
    return _selected(source, project.expressions)


def _inner(expression: pe.Expression) -> pe.Expression:
    return expression.alias.expr if expression.WhichOneof("expr_type") == "alias" else expression


def _selected(source: Table, expressions: Sequence[pe.Expression]) -> Table:
    scope, names, columns, qualifiers = Scope(source), [], [], []
    for expression in expressions:
        kind = expression.WhichOneof("expr_type")
        if kind != "unresolved_star":
            names.append(name_of(expression))
            columns.append(evaluate(expression, scope))
            qualifiers.append("")
            continue
        for name, column, qualifier in _starred(source, expression.unresolved_star.unparsed_target):
            names.append(name)
            columns.append(column)
            qualifiers.append(qualifier)
    return Table(tuple(names), tuple(columns), source.rows, tuple(qualifiers))


def _starred(source: Table, target: str) -> Iterator[tuple[str, Values, str]]:
    if not target:
        yield from zip(source.names, source.columns, source.qualifiers, strict=True)
        return
    place = source.find(target.removesuffix(".*"))
    if place is None or not pa.types.is_struct(source.columns[place].type):
        raise Unsupported(f"{target} of {', '.join(source.names)}")
    struct = source.columns[place]
    for member in struct.type:
        yield member.name, Values(member.type, [None if value is None else value[member.name] for value in struct.values]), ""


def _generated(source: Table, expressions: Sequence[pe.Expression], generator: pe.Expression, call: Any) -> Table:
    """A row for each element of the array, beside the other columns."""
    arrays = evaluate(call.arguments[0], Scope(source))
    rows = [row for row, array in enumerate(arrays.values) for _ in array or ()]
    elements = Values(arrays.type.value_type, [element for array in arrays.values for element in array or ()])
    positions = Values(pa.int32(), [place for array in arrays.values for place in range(len(array or ()))])
    made = (positions, elements) if call.function_name == "posexplode" else (elements,)
    named = tuple(generator.alias.name) or ("pos", "col")[-len(made) :]
    spread = source.take(rows)
    names: list[str] = []
    columns: list[Values] = []
    for expression in expressions:
        if expression is generator or expression == generator:
            names += named
            columns += made
        else:
            part = _selected(spread, [expression])
            names += part.names
            columns += part.columns
    return Table(tuple(names), tuple(columns), len(rows))


def _filter(relations: Relations, kept: pb.Filter) -> Table:
    source = relations.table(kept.input)
    true = evaluate(kept.condition, Scope(source)).values
    return source.take([row for row in range(source.rows) if true[row]])


def _join(relations: Relations, join: pb.Join) -> Table:
    left, right = relations.table(join.left), relations.table(join.right)
    kind = pb.Join.JoinType.Name(join.join_type).removeprefix("JOIN_TYPE_").lower()
    pairs = _pairs_by_names(left, right, join.using_columns) if join.using_columns else _pairs_by_condition(left, right, join)
    if kind in ("left_semi", "left_anti"):
        matched = {row for row, _ in pairs}
        return left.take([row for row in range(left.rows) if (row in matched) == (kind == "left_semi")])
    if kind in ("left_outer", "full_outer"):
        matched = {row for row, _ in pairs}
        pairs += [(row, None) for row in range(left.rows) if row not in matched]
    if kind == "full_outer":
        met = {row for _, row in pairs}
        pairs += [(None, row) for row in range(right.rows) if row not in met]
    elif kind not in ("inner", "left_outer", "cross"):
        raise Unsupported(f"a join {kind}")
    return _paired(left, right, pairs, join.using_columns)


Pairs = list[tuple[int | None, int | None]]


def _pairs_by_names(left: Table, right: Table, names: Sequence[str]) -> Pairs:
    return _pairs([_column(left, name) for name in names], [_column(right, name) for name in names], (False,) * len(names), left, right)


def _pairs_by_condition(left: Table, right: Table, join: pb.Join) -> Pairs:
    """Rows that agree in what the condition wants to be equal, then those for which it holds."""
    lefts, rights, nulls = [], [], []
    for part in _conjuncts(join.join_condition):
        call = part.unresolved_function
        sides = [(_named(left, one), _named(right, one)) for one in call.arguments] if call.function_name in ("==", "<=>") else []
        match sides:
            case [(Values() as mine, None), (None, Values() as other)] | [(None, Values() as other), (Values() as mine, None)]:
                lefts.append(mine)
                rights.append(other)
                nulls.append(call.function_name == "<=>")
    pairs = _pairs(lefts, rights, nulls, left, right)
    if not join.HasField("join_condition"):
        return pairs
    true = evaluate(join.join_condition, Scope(_paired(left, right, pairs, ()))).values
    return [pair for pair, kept in zip(pairs, true, strict=True) if kept]


def _conjuncts(condition: pe.Expression) -> Iterator[pe.Expression]:
    if condition.unresolved_function.function_name == "and":
        for argument in condition.unresolved_function.arguments:
            yield from _conjuncts(argument)
    else:
        yield condition


def _named(of: Table, expression: pe.Expression) -> Values | None:
    """The column of this table that an expression is; None where it is none, or more than that."""
    if expression.WhichOneof("expr_type") != "unresolved_attribute":
        return None
    qualifier, _, name = expression.unresolved_attribute.unparsed_identifier.rpartition(".")
    place = of.find(name, qualifier)
    return None if place is None else of.columns[place]


def _pairs(lefts: Sequence[Values], rights: Sequence[Values], nulls: Sequence[bool], left: Table, right: Table) -> Pairs:
    """Rows whose keys are alike; null is like null where ``nulls`` says so."""

    def keys(columns: Sequence[Values], rows: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
        for row in range(rows):
            key = tuple(hashable(column.values[row]) for column in columns)
            if not any(value is None and not null for value, null in zip(key, nulls, strict=True)):
                yield row, key

    places: dict[tuple[Any, ...], list[int]] = {}
    for row, key in keys(rights, right.rows):
        places.setdefault(key, []).append(row)
    pairs: Pairs = []
    for row, key in keys(lefts, left.rows):
        pairs += [(row, other) for other in places.get(key, ())]
        if len(pairs) > MOST_ROWS:
            raise Unsupported(f"a join of {left.rows} and {right.rows} rows to more than {MOST_ROWS}")
    return pairs


def _paired(left: Table, right: Table, pairs: Pairs, using: Sequence[str]) -> Table:
    lefts, rights = left.take([row for row, _ in pairs]), right.take([row for _, row in pairs])
    keys = []
    for name in using:
        mine, other = _column(lefts, name), _column(rights, name)
        either = [there if here is None else here for here, there in zip(mine.values, other.values, strict=True)]
        keys.append(Values(common_type([mine.type, other.type]), either))
    names, columns, qualifiers = [*using], keys, [""] * len(using)
    for part in (lefts, rights):
        for name, column, qualifier in zip(part.names, part.columns, part.qualifiers, strict=True):
            if name not in using:
                names.append(name)
                columns.append(column)
                qualifiers.append(qualifier)
    return Table(tuple(names), tuple(columns), len(pairs), tuple(qualifiers))


def _column(of: Table, name: str) -> Values:
    place = of.find(name)
    if place is None:
        raise Unsupported(f"There is no column {name} among {', '.join(of.names)}.")
    return of.columns[place]


def _union(relations: Relations, union: pb.SetOperation) -> Table:
    if union.set_op_type != pb.SetOperation.SET_OP_TYPE_UNION or not union.is_all or union.allow_missing_columns:
        raise Unsupported("a set operation that is no union of all rows")
    left, right = relations.table(union.left_input), relations.table(union.right_input)
    if len(left.names) != len(right.names):
        raise Unsupported(f"a union of {', '.join(left.names)} and {', '.join(right.names)}")
    others = [_column(right, name) for name in left.names] if union.by_name else right.columns
    pairs = zip(left.columns, others, strict=True)
    columns = tuple(Values(common_type([mine.type, other.type]), [*mine.values, *other.values]) for mine, other in pairs)
    return Table(left.names, columns, left.rows + right.rows)


def _aggregate(relations: Relations, aggregate: pb.Aggregate) -> Table:
    if aggregate.group_type != pb.Aggregate.GROUP_TYPE_GROUPBY:
        raise Unsupported("other groups than of GROUP BY")
    source = relations.table(aggregate.input)
    keys = _selected(source, aggregate.grouping_expressions)
    groups = group_rows(keys.columns, source.rows) if keys.names else [[*range(source.rows)]]
    heads = keys.take([group[0] for group in groups]) if keys.names else Table((), (), 1)
    scope = Scope(heads, grouped=source, groups=groups)
    named = [name_of(expression) for expression in aggregate.aggregate_expressions]
    columns = [evaluate(expression, scope) for expression in aggregate.aggregate_expressions]
    return Table((*heads.names, *named), (*heads.columns, *columns), len(groups))


def _with_columns(relations: Relations, given: pb.WithColumns) -> Table:
    source = relations.table(given.input)
    scope = Scope(source)
    names, columns, qualifiers = [*source.names], [*source.columns], [*source.qualifiers]
    for alias in given.aliases:
        name, column = alias.name[0], evaluate(alias.expr, scope)
        place = source.find(name)
        if place is None:
            names.append(name)
            columns.append(column)
            qualifiers.append("")
        else:
            columns[place] = column
    return Table(tuple(names), tuple(columns), source.rows, tuple(qualifiers))


def _renamed(relations: Relations, given: pb.WithColumnsRenamed) -> Table:
    source = relations.table(given.input)
    new = {rename.col_name: rename.new_col_name for rename in given.renames} | dict(given.rename_columns_map)
    return Table(tuple(new.get(name, name) for name in source.names), source.columns, source.rows, source.qualifiers)


def _dropped(relations: Relations, given: pb.Drop) -> Table:
    source = relations.table(given.input)
    gone = {place for name in given.column_names if (place := source.find(name)) is not None}
    for expression in given.columns:
        qualifier, _, name = expression.unresolved_attribute.unparsed_identifier.rpartition(".")
        if (place := source.find(name, qualifier)) is not None:
            gone.add(place)
    kept = [place for place in range(len(source.names)) if place not in gone]
    return Table(
        tuple(source.names[place] for place in kept), tuple(source.columns[place] for place in kept), source.rows,
        tuple(source.qualifiers[place] for place in kept),
    )  # fmt: skip


_FILLED: dict[str, Callable[[pa.DataType], bool]] = {
    "boolean": lambda type_: type_ == FLAG,
    "string": lambda type_: type_ == TEXT,
    "integer": lambda type_: pa.types.is_integer(type_) or pa.types.is_floating(type_),
    "long": lambda type_: pa.types.is_integer(type_) or pa.types.is_floating(type_),
}


def _filled(relations: Relations, given: pb.NAFill) -> Table:
    """A column of another type than its value stays as it is."""
    source = relations.table(given.input)
    columns = [*source.columns]
    if not given.cols or len(given.values) not in (1, len(given.cols)):
        raise Unsupported("filling all columns")
    for number, name in enumerate(given.cols):
        literal = given.values[number if len(given.values) > 1 else 0]
        kind, place = str(literal.WhichOneof("literal_type")), source.find(name)
        if place is not None and _FILLED[kind](columns[place].type):
            value = getattr(literal, kind)
            columns[place] = Values(columns[place].type, [value if one is None else one for one in columns[place].values])
    return Table(source.names, tuple(columns), source.rows, source.qualifiers)


def _distinct(relations: Relations, given: pb.Deduplicate) -> Table:
    source = relations.table(given.input)
    keys = source.columns if given.all_columns_as_keys else [_column(source, name) for name in given.column_names]
    return source.take([group[0] for group in group_rows(keys, source.rows)])


def _aliased(relations: Relations, given: pb.SubqueryAlias) -> Table:
    source = relations.table(given.input)
    return Table(source.names, source.columns, source.rows, (given.alias,) * len(source.names))


def _limited(relations: Relations, given: pb.Limit) -> Table:
    source = relations.table(given.input)
    return source.take(range(min(given.limit, source.rows)))


def _sorted(relations: Relations, given: pb.Sort) -> Table:
    source = relations.table(given.input)
    return source.take(order_of(given.order, Scope(source), range(source.rows)))


def _as_it_is(relations: Relations, given: Any) -> Table:
    return relations.table(given.input)


def _mapped(relations: Relations, given: pb.MapPartitions) -> Table:
    """``mapInArrow``, in one piece."""
    function, _ = cloudpickle.loads(given.func.python_udf.command)
    source = relations.table(given.input).to_arrow()
    wanted = arrow_type(proto_schema_to_pyspark_data_type(given.func.python_udf.output_type))
    schema, rows = pa.schema(list(wanted)), 0
    parts = [schema.empty_table()]
    for batch in function(iter(source.combine_chunks().to_batches())):
        rows += batch.num_rows
        if rows > MOST_ROWS:
            raise Unsupported(f"a function that makes more than {MOST_ROWS} rows")
        parts.append(pa.Table.from_batches([batch]).select(schema.names).cast(schema))
    return from_arrow(pa.concat_tables(parts))


_KINDS: dict[str, Callable[[Relations, Any], Table]] = {
    "read": _read, "local_relation": _local, "project": _project, "filter": _filter, "join": _join, "set_op": _union,
    "aggregate": _aggregate, "with_columns": _with_columns, "with_columns_renamed": _renamed, "drop": _dropped, "fill_na": _filled,
    "deduplicate": _distinct, "subquery_alias": _aliased, "limit": _limited, "sort": _sorted, "map_partitions": _mapped,
    "hint": _as_it_is, "repartition": _as_it_is, "repartition_by_expression": _as_it_is,
}  # fmt: skip
