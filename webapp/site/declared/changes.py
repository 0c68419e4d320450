"""Compares files with the database, and applies the difference."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from webapp.lib.refusals import ActionRefused, InputRefused, refusal_text
from webapp.site.declared.guard import applying
from webapp.site.declared.kind import Kind
from webapp.site.declared.reading import Declaration
from webapp.site.declared.registry import KINDS
from webapp.site.declared.secrets import resolve
from webapp.site.models import DeclaredRow

SIGNS = {"add": "+", "change": "~", "adopt": "=", "remove": "-"}
LONGEST_SHOWN = 120


@dataclass(frozen=True)
class Change:
    """``action``: a key of :data:`SIGNS`. ``adopt``: the row is as its file says, but was entered
    by hand or stood in another file. ``differences``: field → value in the database and in the
    file; those of secrets are empty. ``row``: None if there is none yet.
    """

    action: str
    kind: Kind
    key: str
    file: str
    declaration: Declaration | None = None
    row: Any = None
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    differences: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield f"{SIGNS[self.action]} {self.kind.name} {self.key} ({self.file})"
        for name, (stored, stated) in self.differences.items():
            if name in self.kind.secret_columns:
                yield f"    {name}: changed"
            else:
                yield f"    {name}: {_shown(stored)} → {_shown(stated)}"


def find_changes(declarations: Sequence[Declaration]) -> list[Change]:
    """In the order in which they are applied. Raises :class:`InputRefused` if a secret cannot be
    read. Rows that are in no file any more come last, in reverse.
    """
    owners = {(row.kind, row.key): row.file for row in DeclaredRow.objects.all()}
    changes: list[Change] = []
    removals: list[Change] = []
    refusals: list[str] = []
    for name, kind in KINDS.items():
        stored = {kind.key(kind.entry(row)): row for row in kind.rows()}
        stated = {entry.key: entry for entry in declarations if entry.kind == name}
        for key, declaration in stated.items():
            if kind.is_over(declaration.entry):
                continue
            try:
                change = _change(kind, declaration, stored.get(key), owners.get((name, key)))
            except InputRefused as error:
                refusals.append(f"{declaration.file}: {name}: {key}: {error}.")
                continue
            if change is not None:
                changes.append(change)
        removals += [
            Change("remove", kind, key, file, row=stored.get(key))
            for (owner_kind, key), file in sorted(owners.items())
            if owner_kind == name and key not in stated
        ]
    if refusals:
        raise InputRefused("\n".join(refusals))
    return [*changes, *reversed(removals)]


def apply_changes(
    changes: Sequence[Change], declarations: Sequence[Declaration], *, dry_run: bool
) -> list[str]:
    """All or nothing: afterwards the database matches all ``declarations``; in a ``dry_run`` it is
    as before, and whatever would be refused is. Returns lines to print. Raises
    :class:`InputRefused`.
    """
    printed: list[str] = []
    prunes = any(change.action == "remove" for change in changes)
    with transaction.atomic(), applying():
        for change in changes:
            try:
                printed += _apply(change)
            except (ActionRefused, ValidationError) as error:
                raise InputRefused(
                    f"{change.file}: {change.kind.name}: {change.key}: {refusal_text(error)}"
                ) from error
        for left in find_changes(declarations):
            if left.action != "remove" or prunes:
                raise InputRefused(
                    f"{left.file}: {left.kind.name}: {left.key} cannot be stored as its file says, "
                    "or somebody changed it meanwhile: " + " ".join(left.lines())
                )
        if dry_run:
            transaction.set_rollback(True)
    return printed


def _change(
    kind: Kind, declaration: Declaration, row: Any, owner_file: str | None
) -> Change | None:
    """None without a difference. Raises :class:`InputRefused` if a secret cannot be read."""
    key, file, stated = declaration.key, declaration.file, declaration.entry
    secrets = {name: resolve(place) for name, place in declaration.references.items()}
    if row is None:
        return Change("add", kind, key, file, declaration, secrets=secrets)
    entry, stored = kind.entry(row), kind.secrets(row)
    differences: dict[str, tuple[Any, Any]] = {
        name: (entry.get(name), stated.get(name))
        for name in kind.properties
        if entry.get(name) != stated.get(name)
    }
    differences |= {
        name: (None, None)
        for name in kind.secret_columns
        if stored.get(name) != secrets.get(name)
        and (name in secrets or name not in kind.generated_secrets)
    }
    if not differences and owner_file == file:
        return None
    action = "change" if differences else "adopt"
    return Change(action, kind, key, file, declaration, row, secrets, differences)


def _apply(change: Change) -> list[str]:
    owner: dict[str, Any] = {"kind": change.kind.name, "key": change.key}
    if change.declaration is None:
        if change.row is not None:
            change.kind.remove(change.row)
        DeclaredRow.objects.filter(**owner).delete()
        return []
    DeclaredRow.objects.update_or_create(**owner, defaults={"file": change.file})
    if change.action == "adopt":
        return []
    return change.kind.write(change.row, change.declaration.entry, change.secrets)


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)[:LONGEST_SHOWN]
