"""No module imports a module that imports it back, in whatever way: at its top, in a function, for
types, by a string or by a walk over a package.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("ingest", "spark_jobs", "webapp")
CONFIGURATION = "webapp.config.settings"
"""Names what Django imports, and is read by everything."""
NAME = re.compile(rf"({'|'.join(PACKAGES)})(\.[\w*]+)+")


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Module → those that it imports."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name == CONFIGURATION or name not in imports:
            continue
        tree = ast.parse(path.read_text())
        patterns = [text for node in ast.walk(tree) for text in names_in(node)]
        if any(
            isinstance(node, ast.Attribute) and node.attr == "__path__" for node in ast.walk(tree)
        ):
            patterns += [f"{package}.*" for package in imports[name] if "." in package]
        imports[name] |= {
            found for pattern in patterns for found in matching(pattern, graph.modules)
        } - {name}
    return imports


def names_in(node: ast.AST) -> list[str]:
    """The module that a string may name, or have a name of; ``*`` where a value stands in it."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(
        part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "*"
        for part in parts
    ).partition(":")[0]
    if not NAME.fullmatch(text):
        return []
    return [text] if "*" in text else [text, text.rpartition(".")[0]]


def matching(pattern: str, modules: set[str]) -> set[str]:
    whole = re.compile(re.escape(pattern).replace(r"\*", r"\w+"))
    return {name for name in modules if whole.fullmatch(name)}


def test_no_module_imports_one_that_imports_it_back(imports):
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize(
    ("name", "imported"),
    [
        ("ingest.source_registry", "ingest.prometheus.source"),
        ("ingest.prometheus.source", "ingest.prometheus.collector"),
        ("spark_jobs.job", "spark_jobs.jobs.cycle"),
        ("spark_jobs.diagnosis.registry", "spark_jobs.diagnosis.rules.restart_loop"),
        ("webapp.analyses.registry", "webapp.analyses.job.threads"),
        ("webapp.site.urls", "webapp.storage.urls"),
        ("ingest.source_declaration", "ingest.cluster_run"),
    ],
)
def test_what_is_imported_by_its_name_or_for_types_is_seen(imports, name, imported):
    assert imported in imports[name]
