"""Reads the sentences of ``ingest`` and ``spark_jobs`` out of their sources, each with the kinds of the values that are put in."""

import ast
import re
from collections.abc import Iterable, Iterator

from webapp.config.environment import PROJECT_DIR
from webapp.wording.forms import NAME, NUMBER
from webapp.wording.value_kinds import Sources, called, instead_of_names, is_filled_in, kind_of, plural_of

SOURCES = (
    "ingest/discovery/documents.py",
    "ingest/discovery/kubernetes/access.py",
    "ingest/discovery/kubernetes/api.py",
    "ingest/discovery/kubernetes/followed.py",
    "ingest/discovery/kubernetes/kubeconfig.py",
    "ingest/discovery/kubernetes/reading.py",
    "ingest/discovery/naming.py",
    "ingest/discovery/reading.py",
    "ingest/discovery/target_groups.py",
    "ingest/discovery/yarn.py",
    "ingest/discovery/zookeeper.py",
    "ingest/*/source.py",
    "ingest/flink_logs/files.py",
    "ingest/flink_logs/layouts.py",
    "ingest/flink_logs/log4j_dates.py",
    "ingest/flink_logs/log4j_patterns.py",
    "ingest/flink_logs/probe.py",
    "ingest/local_directories.py",
    "ingest/flink_rest/bodies.py",
    "ingest/flink_rest/client.py",
    "ingest/flink_rest/collector.py",
    "ingest/flink_rest/faults.py",
    "ingest/flink_rest/flame_graphs.py",
    "ingest/flink_rest/history_server.py",
    "ingest/flink_rest/parse_results.py",
    "ingest/flink_rest/probe.py",
    "ingest/flink_rest/routing.py",
    "ingest/flink_rest/session.py",
    "ingest/flink_rest/thread_dumps.py",
    "ingest/flink_rest/tls.py",
    "ingest/flink_rest/vertex_reader.py",
    "ingest/flink_rest/payloads/fields.py",
    "ingest/flink_logs/reading.py",
    "ingest/hdfs_audit/tail.py",
    "ingest/history/*.py",
    "ingest/json_bounds.py",
    "ingest/lake/damage.py",
    "ingest/log_stores/*.py",
    "ingest/metadata/channels.py",
    "ingest/metadata/dialects.py",
    "ingest/metadata/errors.py",
    "ingest/metadata/evidence.py",
    "ingest/metadata/files.py",
    "ingest/metadata/java_stream.py",
    "ingest/metadata/keyed.py",
    "ingest/metadata/operator_states.py",
    "ingest/metadata/reader.py",
    "ingest/metadata/reading.py",
    "ingest/metadata/streams.py",
    "ingest/metadata/walk.py",
    "ingest/metadata/window.py",
    "ingest/namenode_jmx/collector.py",
    "ingest/network/clusters.py",
    "ingest/network/kerberos.py",
    "ingest/network/webhdfs.py",
    "ingest/prometheus/collector.py",
    "ingest/prometheus/history.py",
    "ingest/prometheus/matrix.py",
    "ingest/prometheus/probe.py",
    "ingest/regular_files.py",
    "ingest/shard_collector.py",
    "ingest/storage/identities.py",
    "ingest/storage/inventory.py",
    "ingest/storage/listing.py",
    "ingest/storage/tree.py",
    "ingest/uris.py",
    "spark_jobs/diagnosis/**/*.py",
    "spark_jobs/fold/*.py",
    "spark_jobs/storage_words.py",
    "webapp/freshness/alarms.py",
    "webapp/freshness/disk_budget.py",
    "webapp/freshness/writability.py",
    "webapp/pipeline/kept_sizes.py",
    "webapp/backend/words.py",
    "webapp/exactly_once/words.py",
    "webapp/filesystem_calls/words.py",
    "webapp/in_flight/words.py",
    "webapp/placement/words.py",
    "webapp/recovery/words.py",
    "webapp/resources/words.py",
    "webapp/starts/words.py",
    "webapp/reports/execution.py",
    "webapp/reports/gathering/*.py",
    "webapp/reports/renderers/pdf.py",
    "webapp/reports/stored_reports.py",
    "webapp/storage/state_expiry.py",
)
"""Modules whose sentences pages show as they were stored."""

NAMING_CALLS = frozenset({"Evidence", "compared", "Related", "Table", "Kpi", "Point", "DamagedMetadata"})
"""Calls whose texts are shown even where they are one word."""

_PHRASE = re.compile(r"[A-Za-z`\d][\w`%)'-]*[.,:;]? [^\n]*[A-Za-z]{2,}")
_WORD_IN_FORM = re.compile(r"(?:^|[\s(])[A-Za-z][A-Za-z'-]+(?=$|[\s.,:;)])")
_ADDED = re.compile(r" [a-z][a-z ]+")
_FILLED_IN = re.compile(r"%\((\w+)\)s")
_LABEL = re.compile(r"[A-Za-z][a-z-]+")


def sources() -> Sources:
    paths = sorted({path for pattern in SOURCES for path in PROJECT_DIR.glob(pattern)})
    return Sources({str(path.relative_to(PROJECT_DIR)): ast.parse(path.read_text()) for path in paths})


def stored_sentences(known: Sources) -> dict[str, str]:
    """Message → a letter for the kind of each of its gaps, by message."""
    found: dict[str, str] = {}
    for tree in known.trees.values():
        for node, inside in _strings(tree):
            for msgid, kinds in _messages(node, known, inside):
                found[msgid] = _wider(found.get(msgid, kinds), kinds)
        found.update((f"{{count}} {unit}", NUMBER) for unit in units(tree))
        found.update((word, "") for node in ast.walk(tree) for word in _either_words(node))
    return dict(sorted(found.items()))


def units(tree: ast.Module) -> Iterator[str]:
    """Of evidence and thresholds, those that are nouns: ``checkpoints``."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and called(call) in {*NAMING_CALLS, "Threshold"} and len(call.args) > 2:
            unit = call.args[2]
            if isinstance(unit, ast.Constant) and isinstance(unit.value, str) and re.fullmatch(r"[a-z][a-z-]+s", unit.value):
                yield unit.value


def stand_ins(known: Sources) -> list[str]:
    """Constants that stand where a name is not known."""
    return sorted({text for tree in known.trees.values() for text in instead_of_names(tree)})


def _strings(tree: ast.Module) -> Iterator[tuple[ast.expr, bool]]:
    """Every string that is no docstring, key, comparison or part of another; and whether one word is enough for it."""
    passed: set[int] = set()
    named: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed.add(id(node.value))
        elif isinstance(node, ast.Dict):
            passed |= {id(key) for key in node.keys if key is not None}
        elif isinstance(node, ast.Compare):
            passed |= {id(one) for one in (node.left, *node.comparators)}
        elif isinstance(node, ast.Subscript):
            passed |= {id(one) for one in ast.walk(node.slice)}
        elif (
            isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Dict) and "WORDS" in ast.unparse(node).split("=")[0]
        ):
            named |= {id(one) for one in node.value.values}
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "columns":
            named |= {id(one) for one in ast.walk(node.value)}
        elif isinstance(node, ast.JoinedStr):
            passed |= {id(part) for part in node.values}
            specs = [part.format_spec for part in node.values if isinstance(part, ast.FormattedValue) and part.format_spec]
            passed |= {id(one) for spec in specs for one in ast.walk(spec)}
        elif isinstance(node, ast.Call):
            name = called(node)
            if name in {
                "compile",
                "getattr",
                "ValueError",
                "RuntimeError",
                "KeyError",
                "TypeError",
                "exception",
                "startswith",
                "warning",
                "endswith",
                "split",
                "get",
                "count_text",
                "execute",
                "_flags",
            }:
                passed |= {id(one) for argument in node.args for one in ast.walk(argument)}
            elif name in NAMING_CALLS:
                named |= {id(one) for argument in (*node.args, *(word.value for word in node.keywords)) for one in ast.walk(argument)}
    for node in ast.walk(tree):
        if is_filled_in(node):
            passed |= {id(one) for one in ast.walk(node.left)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr | ast.Constant | ast.Call | ast.BinOp) and id(node) not in passed:
            yield node, id(node) in named


def _messages(node: ast.expr, known: Sources, named: bool) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Call):
        yield from plural_of(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value.strip()
        if not set(text) & set("{}\n|") and (_PHRASE.search(text) or (named and _LABEL.fullmatch(text))):
            yield text, ""
    elif isinstance(node, ast.JoinedStr):
        yield from _of_joined(node, known)
    elif isinstance(node, ast.BinOp) and isinstance(node.left, ast.Call) and isinstance(node.right, ast.Dict):
        if is_filled_in(node):
            yield from _of_filled_in(node.left, node.right, known)
    elif isinstance(node, ast.BinOp) and isinstance(node.left, ast.Call) and isinstance(node.right, ast.Constant):
        added = node.right.value
        if isinstance(added, str) and _ADDED.fullmatch(added):
            yield f"{{{_gap_name(node.left)}}}{added}", kind_of(ast.FormattedValue(node.left, -1, None), known)


def _of_filled_in(call: ast.Call, given: ast.Dict, known: Sources) -> Iterator[tuple[str, str]]:
    """What pages say in their language and reports keep in English: ``gettext("%(share)s of it") % {"share": …}``."""
    values = {key.value: value for key, value in zip(given.keys, given.values, strict=True) if isinstance(key, ast.Constant)}
    for text in call.args:
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            gaps = _FILLED_IN.findall(text.value)
            kinds = "".join(kind_of(ast.FormattedValue(values[gap], -1, None), known) for gap in gaps)
            yield _FILLED_IN.sub(r"{\1}", text.value).replace("%%", "%").strip(), kinds


def _of_joined(node: ast.JoinedStr, known: Sources) -> Iterator[tuple[str, str]]:
    literal = "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
    if not _WORD_IN_FORM.search(literal.replace("\0", " ")) or not re.search(r"\s", literal.strip()) or "{" in literal or "\n" in literal:
        return
    text, kinds, taken = "", "", set[str]()
    for part in _joined_capitals(node.values):
        if isinstance(part, ast.Constant):
            text += str(part.value)
        elif isinstance(part, ast.FormattedValue):
            gap = _free(_gap_name(part.value), taken)
            text, kinds = f"{text}{{{gap}}}", kinds + kind_of(part, known)
    yield text.strip(), kinds


def _either_words(node: ast.AST) -> Iterator[str]:
    """``{'has' if one else 'have'}``, ``return "records" if many else "state"``: each a text of its own."""
    if isinstance(node, ast.FormattedValue | ast.Return) and isinstance(node.value, ast.IfExp):
        for one in (node.value.body, node.value.orelse):
            if isinstance(one, ast.Constant) and isinstance(one.value, str) and _LABEL.fullmatch(one.value):
                yield one.value


def _joined_capitals(parts: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """``{x[0].upper()}{x[1:]}`` is x, with a capital."""
    for part in parts:
        if isinstance(part, ast.FormattedValue) and ast.unparse(part.value).endswith("[0].upper()"):
            continue
        yield part


def _gap_name(value: ast.expr) -> str:
    if isinstance(value, ast.Name):
        return value.id.strip("_").lower()
    if isinstance(value, ast.Attribute):
        return value.attr.strip("_").lower()
    if isinstance(value, ast.Call) and value.args and called(value).endswith(("_text", "brief", "brief_name", "len", "str", "brief_names")):
        return _gap_name(value.args[-1] if called(value) in {"brief_name", "brief_names"} else value.args[0])
    if isinstance(value, ast.Call):
        return called(value).strip("_").removesuffix("_text").lower() or "value"
    if isinstance(value, ast.Subscript | ast.Starred | ast.FormattedValue):
        return _gap_name(value.value)
    if isinstance(value, ast.BinOp):
        return _gap_name(value.left)
    if isinstance(value, ast.BoolOp):
        return _gap_name(value.values[0])
    return "words" if isinstance(value, ast.IfExp) else "value"


def _free(name: str, taken: set[str]) -> str:
    free = next(one for one in (name, *(f"{name}{number}" for number in range(2, 99))) if one not in taken)
    taken.add(free)
    return free


def _wider(one: str, other: str) -> str:
    """Where two places make the same text of different values, the kind that takes both."""
    return "".join(a if a == b else NAME for a, b in zip(one, other, strict=True))
