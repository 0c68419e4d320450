"""The cursor of a command in a JSON file, so that its next run goes on where this one ended."""

import json
from pathlib import Path
from typing import Any

from ingest.errors import Refused


def load_cursor(path: Path) -> dict[str, Any]:
    """Empty where there is none yet. Raises ``Refused`` where it cannot be read."""
    try:
        cursor = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Refused(
            f"The cursor in {path} cannot be read; remove the file to read everything again, "
            "nothing is kept twice."
        ) from error
    return cursor if isinstance(cursor, dict) else {}


def save_cursor(path: Path, cursor: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(cursor), "utf-8")
    fresh.replace(path)
