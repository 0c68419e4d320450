from typing import Any


def member(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, dict) else None


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def objects(document: Any, name: str) -> list[dict[str, Any]]:
    return [item for item in listed(member(document, name)) if isinstance(item, dict)]
