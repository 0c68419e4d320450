import io
from importlib import import_module
from pathlib import Path

import pytest

from tests.bench.__main__ import main
from tests.bench.harness import Figure, Report


def test_a_budget_is_held_against_the_ratio_where_there_is_a_baseline() -> None:
    assert Figure("events", 50, "s", baseline=10, budget=6).holds is True
    assert Figure("events", 70, "s", baseline=10, budget=6).holds is False


def test_a_budget_is_held_against_the_value_where_there_is_none() -> None:
    assert Figure("page", 299, "ms", budget=300).holds is True
    assert Figure("page", 301, "ms", budget=300).holds is False


def test_a_rate_has_a_lower_bound() -> None:
    assert Figure("tail", 31, "MB/s", at_least=30).holds is True
    assert Figure("tail", 29, "MB/s", at_least=30).holds is False


def test_a_figure_without_bounds_is_only_told() -> None:
    assert Figure("rows", 5, "").holds is None


def test_every_figure_is_printed_with_its_ratio_and_verdict() -> None:
    out = io.StringIO()
    report = Report(out)
    report("log events", 66, "s", baseline=10, budget=6)
    assert "66 s" in out.getvalue()
    assert "6.60 ×" in out.getvalue()
    assert out.getvalue().endswith("MISSED\n")
    assert [figure.name for figure in report.missed] == ["log events"]


def test_an_unknown_bench_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-bench"]) == 2
    assert "No such bench: no-such-bench" in capsys.readouterr().err


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parent.glob("bench_*.py")), ids=lambda path: path.stem
)
def test_every_bench_can_be_started(path: Path) -> None:
    assert callable(import_module(f"tests.bench.{path.stem}").run)
