"""Declares who may see the rows of each model. A decorator restricts the queries of managers and
checks rows that are saved:

* ``scoped()``: a column names the cluster (``also_of_all``: rows without one are for everybody).
* ``scoped_as("app.Model", by=…)``: rows are visible with a row of another model.
* ``of_every(relation)``: for readers of all clusters of the relation.
* ``fleet_wide()``: for readers of all clusters.

``manage.py check`` refuses a model without a decorator, unless it is in ``OPEN``, with a reason.
Tasks and commands see everything; a request sees nothing until its user is known.
``_base_manager``, raw SQL and many-to-many tables of Django are not limited: do not use them for a
page. The lake knows no scopes: first get the job from the database, or choose rows by
``scopes.current().holds(cluster)``. ``tests/attacks/test_scopes.py`` opens each URL as a person who
sees another cluster: add a row of a new model to ``tests/attacks/inhabited.py``.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.core.exceptions import EmptyResultSet, FullResultSet, PermissionDenied
from django.db import models
from django.db.models.expressions import Expression, F
from django.db.models.signals import pre_delete, pre_save

from webapp.lib import scopes
from webapp.lib.scopes import Scope

OPEN = {
    "accounts.User": "people; only administrators list them",
    "accounts.ApiToken": "everybody sees their own",
    "accounts.SignInFailures": "digests",
    "accounts.AuditEntry": (
        "everybody's writes make them; only administrators of the whole fleet list them"
    ),
    "work.DueWork": "actions wake it; the pages that show it are for who sees everything",
    "work.Heartbeat": "names of Weir's own processes",
    "work.Manifest": "when data came in, which every page says",
    "work.RolledUp": "names of tables",
}
"""Models whose rows everybody may read → why."""


ModelT = TypeVar("ModelT", bound=models.Model)


class JobKey(NamedTuple):
    cluster: str
    job_id: str


class JobRow(models.Model):
    """A row about one job: ``cluster`` and ``job_id`` are its key or a part of it."""

    cluster = models.CharField(max_length=100)
    job_id = models.CharField(max_length=64)
    as_of = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} of {self.job_id} on {self.cluster}"

    @property
    def key(self) -> JobKey:
        return JobKey(self.cluster, self.job_id)

    @property
    def identity(self) -> dict[str, str]:
        """For ``filter(**job.identity)`` of other rows about the job."""
        return self.key._asdict()


class Rule:
    """Who may see the rows of a model, by one column."""

    column = "pk"
    model: type[models.Model]

    def visible(self, scope: Scope) -> "models.QuerySet[Any] | list[str]":
        """Values of the column in visible rows: names, or a query."""
        raise NotImplementedError

    def check(self, row: models.Model) -> None:
        """Raises ``PermissionDenied`` if the viewer, who does not see everything, may not write
        this row.
        """
        raise NotImplementedError


class OfCluster(Rule):
    """The column names a cluster; with ``also_of_all``, rows without one are visible to everybody."""

    def __init__(self, column: str, also_of_all: bool) -> None:
        self.column, self.also_of_all = column, also_of_all

    def visible(self, scope: Scope) -> list[str]:
        return sorted(scope.clusters | ({""} if self.also_of_all else set()))

    def check(self, row: models.Model) -> None:
        scopes.require_cluster(getattr(row, self.column))


class OfRow(Rule):
    """The column has the ``key`` of a row of ``parent``; both rows are visible to the same viewers."""

    def __init__(self, column: str, parent: str, key: str) -> None:
        self.column, self.parent, self.key = column, parent, key

    def visible(self, scope: Scope) -> "models.QuerySet[Any]":
        rows: models.QuerySet[Any] = (
            apps.get_model(self.parent)._default_manager.order_by().values(self.key)
        )
        return rows

    def check(self, row: models.Model) -> None:
        field: Any = row._meta.get_field(self.column)
        if (
            not self.visible(scopes.current())
            .filter(**{self.key: getattr(row, field.attname)})
            .exists()
        ):
            raise PermissionDenied("This is of no cluster that you see.")


class OfEvery(Rule):
    """``relation`` has at least one cluster, and the viewer may see all of them."""

    def __init__(self, relation: str) -> None:
        self.relation = relation

    def visible(self, scope: Scope) -> "models.QuerySet[Any]":
        field: Any = self.model._meta.get_field(self.relation)
        links = field.remote_field.through._base_manager
        row_key = field.m2m_column_name()
        cluster_in = f"{field.m2m_reverse_field_name()}__in"
        visible_clusters = field.related_model._default_manager.order_by().values("pk")
        with_hidden = links.exclude(**{cluster_in: visible_clusters}).values(row_key)
        rows: models.QuerySet[Any] = (
            links.filter(**{cluster_in: visible_clusters})
            .exclude(**{f"{row_key}__in": with_hidden})
            .values(row_key)
        )
        return rows

    def check(self, row: models.Model) -> None:
        """Relations are saved after the row: only viewers of everything may write it."""
        scopes.require_everything(f"A {row._meta.verbose_name}")


class FleetWide(Rule):
    def visible(self, scope: Scope) -> list[str]:
        return []

    def check(self, row: models.Model) -> None:
        scopes.require_everything(f"A {row._meta.verbose_name}")


class InScope(Expression):
    """True for rows that the viewer may see. The scope is read when the query is compiled; viewers
    of everything get no condition.
    """

    output_field = models.BooleanField()
    conditional = True

    def __init__(self, column: Any, rule: Rule) -> None:
        super().__init__()
        self.column, self.rule = column, rule

    def get_source_expressions(self) -> list[Any]:
        return [self.column]

    def set_source_expressions(self, exprs: Any) -> None:
        (self.column,) = exprs

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        scope = scopes.current()
        if scope.is_everything:
            raise FullResultSet
        condition = self.rule.visible(scope)
        column, parameters = compiler.compile(self.column)
        if isinstance(condition, models.QuerySet):
            inner, more = condition.query.get_compiler(connection=connection).as_sql()
            return f"{column} IN ({inner})", (*parameters, *more)
        if not condition:
            raise EmptyResultSet
        # One parameter for any number of clusters.
        if connection.vendor == "postgresql":
            return f"{column} = ANY(%s)", (*parameters, condition)
        # Django quoted the column
        within = f"{column} IN (SELECT value FROM json_each(%s))"  # noqa: S608
        return within, (*parameters, json.dumps(condition))


def scoped(
    by: str = "cluster", *, also_of_all: bool = False
) -> Callable[[type[ModelT]], type[ModelT]]:
    return _with_rule(OfCluster(by, also_of_all))


def scoped_as(parent: str, *, by: str, key: str = "pk") -> Callable[[type[ModelT]], type[ModelT]]:
    """Rows are visible with the row of ``parent`` (``app.Model``) in the column ``by``."""
    return _with_rule(OfRow(by, parent, key))


def of_every(relation: str) -> Callable[[type[ModelT]], type[ModelT]]:
    return _with_rule(OfEvery(relation))


def fleet_wide() -> Callable[[type[ModelT]], type[ModelT]]:
    return _with_rule(FleetWide())


def _with_rule(rule: Rule) -> Callable[[type[ModelT]], type[ModelT]]:
    def decorate(model: type[ModelT]) -> type[ModelT]:
        rule.model = model
        for manager in model._meta.local_managers:
            manager.__class__ = _restricted(rule, type(manager))
        model._meta._expire_cache()  # type: ignore[attr-defined]  # which has managers
        return model

    return decorate


def _restricted(rule: Rule, manager: type[Any]) -> type[Any]:

    def get_queryset(self: Any) -> Any:
        return manager.get_queryset(self).filter(InScope(F(rule.column), rule))

    attributes = {
        name: value
        for name, value in vars(manager).items()
        if name not in ("__dict__", "__weakref__")
    }
    attributes |= {"get_queryset": get_queryset, "rule": rule}
    # A new class: Django subclasses the class of a manager for relations.
    return type(manager.__name__, manager.__bases__, attributes)


def rule_of(model: type[models.Model]) -> Rule | None:
    return getattr(model._default_manager, "rule", None)


def check_before_save(
    sender: type[models.Model], instance: models.Model, raw: bool = False, **kwargs: Any
) -> None:
    """Receives ``pre_save``: people may only write rows of clusters that they see."""
    if scopes.current().is_everything or raw:
        return
    rule = rule_of(sender)
    if rule is not None:
        rule.check(instance)


def check_before_delete(sender: type[models.Model], instance: models.Model, **kwargs: Any) -> None:
    """Receives ``pre_delete`` of models with ``also_of_all``, whose rows some people may only read."""
    check_before_save(sender, instance)


def connect() -> None:
    """Call it after all models are loaded. With a receiver of deletes, Django loads each row that
    it deletes.
    """
    pre_save.connect(check_before_save, dispatch_uid="scopes.writes")
    for model in apps.get_models():
        if getattr(rule_of(model), "also_of_all", False):
            pre_delete.connect(
                check_before_delete,
                sender=model,
                dispatch_uid=f"scopes.deletes.{model._meta.label}",
            )


def check_declarations(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """A system check against models without a rule: everybody would see their rows."""
    own_models = [model for model in apps.get_models() if model.__module__.startswith("webapp.")]
    labels = {model._meta.label for model in own_models if rule_of(model) is None} - set(OPEN)
    hint = (
        "Decorate it with scoped, scoped_as or fleet_wide of webapp.lib.scoped_rows "
        "(see its docstring)."
    )
    return [
        Error("Nothing says who may see its rows.", hint, obj=label, id="weir.E001")
        for label in sorted(labels)
    ]
