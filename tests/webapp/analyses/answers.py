"""Reads what the API answers of an analysis."""

from typing import Any


def facts_of(document: dict[str, Any]) -> dict[str, Any]:
    """Key → value, of all blocks of facts."""
    return {
        one["key"]: one["value"]
        for block in document["blocks"]
        if block["kind"] == "facts"
        for one in block["facts"]
    }


def tables_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Key → table."""
    return {block["key"]: block for block in document["blocks"] if block["kind"] == "table"}


def advice_of(document: dict[str, Any]) -> list[str]:
    return [
        line for block in document["blocks"] if block["kind"] == "advice" for line in block["lines"]
    ]
