"""Members of decoded JSON whose shape is not known."""

from typing import Any


def member(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, dict) else None


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def objects(document: Any, name: str) -> list[dict[str, Any]]:
    """The objects of a member that is a list."""
    return [item for item in listed(member(document, name)) if isinstance(item, dict)]
