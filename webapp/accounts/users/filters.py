from typing import Any

from django.db.models import Q, QuerySet

from webapp.accounts.roles import GROUPS, Role
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import KeysetColumn
from webapp.lib.query_parameters import Choice, Text

OPEN, CLOSED = "open", "closed"


class PeopleFilters(ListFilters):
    q = Text("username", "icontains", about="part of the user name")
    role = Choice(GROUPS, method="filter_role")
    state = Choice((OPEN, CLOSED), method="filter_state")
    order = (KeysetColumn("username"), KeysetColumn("id"))

    def filter_role(self, people: QuerySet[Any], name: str, role: str) -> QuerySet[Any]:
        if role == Role.ADMIN.group:
            return people.filter(Q(is_superuser=True) | Q(groups__name=role)).distinct()
        ordinary_users = people.exclude(is_superuser=True)
        if role == Role.OPERATOR.group:
            return ordinary_users.filter(groups__name=role).exclude(groups__name=Role.ADMIN.group)
        return ordinary_users.exclude(groups__name__in=(Role.OPERATOR.group, Role.ADMIN.group))

    def filter_state(self, people: QuerySet[Any], name: str, state: str) -> QuerySet[Any]:
        return people.filter(is_active=state == OPEN)
