"""The analyses of a root for its page, whose feature lies below them."""

from collections.abc import Iterable

from django.template import Library

from webapp.analyses.declaration import RootAnalysis
from webapp.analyses.registry import all_root_analyses

register = Library()


@register.simple_tag
def root_analyses() -> Iterable[RootAnalysis]:
    return all_root_analyses().values()
