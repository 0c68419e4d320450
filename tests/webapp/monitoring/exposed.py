"""Metrics as Prometheus text names them, and the names and labels that PromQL asks for."""

import re
from collections.abc import Iterator

SAMPLE = re.compile(r"^(weir_\w+)(?:\{(.*)\})? \S+$", re.MULTILINE)
SELECTOR = re.compile(r"\b(weir_\w+)(?:\{([^}]*)\})?")
LABEL = re.compile(r'(\w+)(?:=~|!~|!=|=)"')
OF_PROMETHEUS = {"job", "instance"}


def labels_by_name(text: str) -> dict[str, set[str]]:
    """Of an answer: those of the samples of each metric that has any."""
    found: dict[str, set[str]] = {}
    for name, labels in SAMPLE.findall(text):
        found.setdefault(name, set()).update(LABEL.findall(labels))
    return found


def asked_by(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Each metric of Weir that a PromQL expression reads, with the labels that it is selected by."""
    for name, labels in SELECTOR.findall(expression):
        yield name, set(LABEL.findall(labels)) - OF_PROMETHEUS
