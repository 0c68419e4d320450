"""Only users who see the whole fleet may change what is read of a cluster: others could make Weir
show them data of other teams. The model refuses a change; the form locks the fields.
"""

from collections.abc import Iterable

from django import forms
from django.core.exceptions import PermissionDenied
from django.db import models
from django.utils.translation import gettext

from webapp.lib import scopes


def require_same_reading(
    row: models.Model, fields: Iterable[str], written: Iterable[str] | None
) -> None:
    """Raises ``PermissionDenied`` with the fields that differ from the stored row. ``written``:
    fields that are saved, None for all.
    """
    if scopes.current().is_everything:
        return
    names = set(fields) if written is None else set(fields) & set(written)
    with scopes.everything():  # the row is compared, not shown
        stored = type(row)._base_manager.filter(pk=row.pk).first() if names else None
    _refuse(
        {name for name in names if stored is None or getattr(row, name) != getattr(stored, name)}
    )


def lock_reading(form: forms.BaseForm, fields: Iterable[str]) -> bool:
    """Whether these fields are read-only. Raises ``PermissionDenied`` if another value was sent."""
    if scopes.current().is_everything:
        return False
    locked = {name: form.fields[name] for name in fields}
    _refuse({name for name, field in locked.items() if _is_changed(form, name, field)})
    for field in locked.values():
        field.disabled = True
    return True


def _is_changed(form: forms.BaseForm, name: str, field: forms.Field) -> bool:
    if form.add_prefix(name) not in form.data:  # a browser sends no field that is disabled
        return False
    sent = field.widget.value_from_datadict(form.data, form.files, form.add_prefix(name))
    stored = form.get_initial_for_field(field, name)
    if isinstance(sent, str) and isinstance(stored, str):
        return sent.split() != stored.split()
    return field.has_changed(stored, sent)


def _refuse(changed: set[str]) -> None:
    if changed:
        raise PermissionDenied(
            gettext(
                "Only those who see the whole fleet may change what is read: %(fields)s. Ask an "
                "administrator of Weir."
            )
            % {"fields": ", ".join(sorted(changed))}
        )
