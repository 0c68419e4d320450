"""The vendored files are those that VENDOR.md declares."""

import hashlib
import re
from pathlib import Path

VENDOR = Path(__file__).parents[2] / "static" / "vendor"
_ROW = re.compile(r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$", re.MULTILINE)


def _declared() -> dict[str, str]:
    return dict(_ROW.findall((VENDOR / "VENDOR.md").read_text()))


def test_every_vendored_file_is_declared():
    present = {
        str(path.relative_to(VENDOR))
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "VENDOR.md"
    }
    assert present == set(_declared())


def test_every_vendored_file_has_the_declared_sum():
    for name, declared in _declared().items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == declared, name
