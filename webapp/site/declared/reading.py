"""Reads the files of a directory: YAML, each an object of kinds with lists of entries."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from django.core.exceptions import ValidationError
from jsonschema import Draft202012Validator
from jsonschema import ValidationError as JsonSchemaError

from ingest.discovery.documents import from_yaml
from ingest.errors import Skipped
from ingest.regular_files import open_regular
from webapp.lib.cursor_values import UNSTORABLE
from webapp.lib.refusals import ActionRefused, InputRefused, refusal_text
from webapp.site.declared.kind import Entry
from webapp.site.declared.registry import KINDS, schema

SUFFIXES = (".yaml", ".yml")
TYPES = {
    "array": "a list",
    "object": "fields with values",
    "string": "a text: put it in quotes",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
"""What people call the types of JSON Schema."""
MOST_FILE_BYTES = 4_000_000
MOST_ERRORS = 50


@dataclass(frozen=True)
class Declaration:
    """``entry`` is normalised and without its secrets; ``references``: field → where its secret
    lies.
    """

    kind: str
    key: str
    file: str
    entry: Entry
    references: dict[str, dict[str, str]]


class _Loader(yaml.CSafeLoader):
    """Refuses repeated keys, of which YAML takes the last, and texts that no database stores.
    Instants stay texts.
    """

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            raise Skipped(f"line {node.start_mark.line + 1}: duplicate key")
        return mapping

    def construct_scalar(self, node: Any) -> Any:
        value = super().construct_scalar(node)
        if isinstance(value, str) and UNSTORABLE.search(value):
            line = node.start_mark.line + 1
            raise Skipped(f"line {line}: a text has a NUL byte or a lone surrogate")
        return value


_Loader.yaml_implicit_resolvers = {
    first: [resolver for resolver in resolvers if resolver[0] != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_directory(directory: Path) -> list[Declaration]:
    """All declarations below ``directory``. Raises :class:`InputRefused` with every error, each
    with its file and place. Hidden files and directories are left out: a Kubernetes mounts a
    ConfigMap as links to a hidden directory, and a repository has such files for other programs.
    """
    files = sorted(
        path
        for path in directory.rglob("*")
        if path.suffix in SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(directory).parts)
    )
    if not files:
        raise InputRefused(f"{directory} has no file that ends with {' or '.join(SUFFIXES)}.")
    errors: list[str] = []
    declarations: dict[tuple[str, str], Declaration] = {}
    validator = Draft202012Validator(schema())
    for path in files:
        file = path.relative_to(directory).as_posix()
        try:
            document = _load(path)
        except (OSError, Skipped) as error:
            errors.append(f"{file}: {error}")
            continue
        wrong = [
            f"{file}: {error.json_path.replace('$', '').strip('.') or 'the file'}: "
            f"{_schema_error(error)}"
            for error in validator.iter_errors(document)
        ]
        errors += wrong
        if wrong:
            continue
        for declaration in _declarations(document, file, errors):
            identity = declaration.kind, declaration.key
            if identity in declarations:
                other = declarations[identity].file
                again = "twice" if other == file else f"also in {other}"
                errors.append(f"{file}: {declaration.kind}: {declaration.key} is here {again}.")
            declarations[identity] = declaration
    if errors:
        more = [f"… and {len(errors) - MOST_ERRORS} more."] if len(errors) > MOST_ERRORS else []
        raise InputRefused("\n".join([*errors[:MOST_ERRORS], *more]))
    return [*declarations.values()]


def _load(path: Path) -> Any:
    """Raises ``OSError`` and ``Skipped``, without the text, which may be a secret."""
    with open_regular(path) as file:
        content = file.read(MOST_FILE_BYTES + 1)
    if len(content) > MOST_FILE_BYTES:
        raise Skipped(f"it is larger than {MOST_FILE_BYTES:,} bytes")
    return from_yaml(content, _Loader) or {}


def _declarations(document: dict[str, Any], file: str, errors: list[str]) -> Iterator[Declaration]:
    for name, kind in KINDS.items():
        for number, stated in enumerate(document.get(name, ())):
            references = {
                field: value for field, value in stated.items() if field in kind.secret_columns
            }
            entry = {field: value for field, value in stated.items() if field not in references}
            try:
                entry = kind.without_defaults(kind.normalised(entry))
            except (ActionRefused, ValidationError, OverflowError) as error:
                errors.append(f"{file}: {name}[{number}]: {refusal_text(error)}")
                continue
            yield Declaration(name, kind.key(entry), file, entry, references)


def _schema_error(error: JsonSchemaError) -> str:
    """Without the value, which may be a secret, unless it is one word of a list or a number."""
    if "x-secret" in error.schema:
        return "it must be {env: NAME} or {file: PATH}"
    if error.validator == "type":
        return f"it must be {TYPES[error.validator_value]}"
    message = str(error.message)
    if error.validator in ("enum", "minimum", "maximum"):
        return message[:200]
    return message.replace(repr(error.instance), "it")[:200]
