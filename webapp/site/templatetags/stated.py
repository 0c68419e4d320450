"""``{% load stated %}``: which file states a row of the configuration."""

from typing import Any

from django import template

from webapp.lib import scopes
from webapp.site.declared.registry import KINDS
from webapp.site.models import DeclaredRow

register = template.Library()
FILES = "stated_files"


@register.simple_tag(takes_context=True)
def stated_in(context: template.Context, kind_name: str, row: Any) -> str:
    """The file that states the row; "" if none does. One query for all rows of a page."""
    if not row:
        return ""
    kind = KINDS[kind_name]
    files = context.render_context.get(FILES)
    if files is None:
        with scopes.everything():
            stated = DeclaredRow.objects.values_list("kind", "key", "file")
            files = {(name, key): file for name, key, file in stated}
        context.render_context[FILES] = files
    return files.get((kind_name, kind.key(kind.entry(row))), "") if files else ""
