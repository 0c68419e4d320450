"""An area is a package of ``webapp`` and the folders of its templates, whose messages are in one
catalogue.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ingest.flink_logs.patterns import KINDS
from webapp.config.environment import PROJECT_DIR
from webapp.findings import runbooks
from webapp.findings.threshold_names import CONTEXT, all_words
from webapp.lib.code_words import spaced
from webapp.site.translations.extraction import Message, messages_in_code, messages_in_template

LANGUAGE = "zh_Hans"
LIB = "lib"
"""Also has the messages of ``ingest`` and ``spark_jobs``."""
AREA_OF_FOLDER = {
    "": LIB,
    "api": LIB,
    "rules": "findings",
    "documentation": "site",
    "palette": "site",
}
"""Folders of templates without a package of their name; "" is for templates outside folders."""


@dataclass(frozen=True)
class Area:
    """``name``: name of the package."""

    name: str

    @property
    def po(self) -> Path:
        return (
            PROJECT_DIR / "webapp" / self.name / "locale" / LANGUAGE / "LC_MESSAGES" / "django.po"
        )

    @property
    def mo(self) -> Path:
        return self.po.with_suffix(".mo")

    def messages(self) -> list[Message]:
        """Each message once, in the order of files and lines."""
        messages_by_key: dict[object, Message] = {}
        for message in self._all():
            first = messages_by_key.setdefault(message.key, message)
            if message.paths[0] not in first.paths:
                first.paths.append(message.paths[0])
        return list(messages_by_key.values())

    def _all(self) -> Iterator[Message]:
        for path in self._templates():
            yield from messages_in_template(str(path.relative_to(PROJECT_DIR)), path.read_text())
        for path in sorted((PROJECT_DIR / "webapp" / self.name).rglob("*.py")):
            if "migrations" not in path.parts:
                yield from messages_in_code(str(path.relative_to(PROJECT_DIR)), path.read_text())
        if self.name == LIB:
            for path in sorted(
                path
                for folder in ("ingest", "spark_jobs")
                for path in (PROJECT_DIR / folder).rglob("*.py")
            ):
                yield from messages_in_code(str(path.relative_to(PROJECT_DIR)), path.read_text())
        if self.name == "fleet":
            for kind in (*KINDS, "exception"):
                yield Message(spaced(kind), paths=["ingest/flink_logs/patterns.py"])
        if self.name == "findings":
            for path in sorted(runbooks.FOLDER.glob("*.md")):
                yield from (
                    Message(text, paths=[str(path.relative_to(PROJECT_DIR))])
                    for text in runbooks.messages(path.read_text())
                )
            yield from (
                Message(words, context=CONTEXT, paths=["spark_jobs/diagnosis"])
                for words in all_words()
            )

    def _templates(self) -> Iterator[Path]:
        base = PROJECT_DIR / "templates"
        for path in sorted(base.rglob("*.html")):
            folders = path.relative_to(base).parts[:-1]
            folder = folders[0] if folders else ""
            if AREA_OF_FOLDER.get(folder, folder) == self.name:
                yield path


def areas() -> list[Area]:
    packages = (path.parent.name for path in (PROJECT_DIR / "webapp").glob("*/__init__.py"))
    return [Area(name) for name in sorted(packages)]
