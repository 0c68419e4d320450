"""What the locks install is what ``pyproject.toml`` asks for, in versions and files that agree."""

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.requirements import EXTRAS, PROJECT, needed
from webapp.config.environment import PROJECT_DIR

EVERYTHING, WEB = "requirements.lock", "requirements-web.lock"
IN_WEB = ("mcp", "otlp")
"""Of the extras: agents and shippers speak to the web server."""
_ENTRY = re.compile(r"^[A-Za-z0-9].*?(?=^[A-Za-z0-9]|\Z)", re.MULTILINE | re.DOTALL)


def entries(lock: str) -> dict[str, tuple[Requirement, frozenset[str]]]:
    """Requirement and hashes by name, of those that count on this machine."""
    found = {}
    for entry in _ENTRY.findall((PROJECT_DIR / lock).read_text()):
        requirement = Requirement(entry.split("\\\n")[0])
        if requirement.marker is None or requirement.marker.evaluate():
            hashes = frozenset(re.findall(r"--hash=(\S+)", entry))
            found[canonicalize_name(requirement.name)] = requirement, hashes
    return found


def test_the_web_image_has_versions_and_hashes_of_the_full_lock() -> None:
    everything, web = entries(EVERYTHING), entries(WEB)
    assert web
    assert set(web) < set(everything)
    assert {name: everything[name] for name in web} == web


@pytest.mark.parametrize(("lock", "extras"), [(EVERYTHING, ("local",)), (WEB, IN_WEB)])
def test_a_lock_has_all_that_is_asked_for_and_nothing_else(
    lock: str, extras: tuple[str, ...]
) -> None:
    assert set(entries(lock)) == needed(*extras)


def test_each_dependency_says_why_it_is_this_one() -> None:
    text = (PROJECT_DIR / "pyproject.toml").read_text()
    declared = [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]
    others = {line for line in declared if Requirement(line).name != PROJECT["name"]}
    assert {line for line in others if not re.search(rf'"{re.escape(line)}", +# \w', text)} == set()
