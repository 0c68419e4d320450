from typing import Any


def member(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, dict) else None


def as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def object_list(document: Any, name: str) -> list[dict[str, Any]]:
    return [item for item in as_list(member(document, name)) if isinstance(item, dict)]
