"""Where stages meet: serving tables and models, tasks and queues, models and migrations."""

import pytest
from django.core.management import call_command
from django.db import models
from drf_spectacular.generators import SchemaGenerator

from ingest.source_declaration import Setting
from ingest.source_registry import settings
from spark_jobs.serving import SERVING_TABLES
from webapp.accounts.audit.entered_fields import details
from webapp.config import schedule
from webapp.fleet.api.serializers import ClusterSerializer
from webapp.fleet.forms import ClusterForm
from webapp.fleet.management.commands import add_cluster
from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import ENTERED, READ_FIELDS, SECRETS
from webapp.fleet.sign_ins import SIGN_INS
from webapp.fleet.validators import is_web_url
from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.pipeline import tasks
from webapp.pipeline.table_models import SERVED
from webapp.work import keys, registry

FIELD_OF_KIND: dict[str, tuple[type[models.Field], ...]] = {  # type: ignore[type-arg]
    "text": (models.CharField, models.TextField, MessageField),
    "int": (models.BigIntegerField,),
    "real": (models.FloatField,),
    "flag": (models.BooleanField,),
    "instant": (models.DateTimeField,),
    "json": (models.JSONField,),
    "message": (MessageField,),
    "messages": (MessagesField,),
}


@pytest.mark.parametrize("name", SERVING_TABLES)
def test_every_serving_column_is_a_field_of_its_kind(name: str) -> None:
    table, model = SERVING_TABLES[name], SERVED[name].model
    fields = {field.name: field for field in model._meta.fields}
    assert set(fields) == {*table.column_names, *SERVED[name].derived, *SERVED[name].later, "id"}
    for column in table.columns:
        assert type(fields[column.name]) in FIELD_OF_KIND[column.kind], column.name
        assert fields[column.name].null is not column.required, column.name
        assert fields[column.name].column == column.name


def test_the_api_has_every_column_of_a_checkpoint_and_says_what_it_is() -> None:
    document = SchemaGenerator().get_schema(request=None, public=True)
    shown = document["components"]["schemas"]["Checkpoint"]["properties"]
    declared = SERVING_TABLES["checkpoint_fact"].by_name
    assert shown.keys() == declared.keys()
    described = {
        name: field["description"] for name, field in shown.items() if "description" in field
    }
    assert described == {name: column.about for name, column in declared.items() if column.about}


@pytest.mark.parametrize("name", SERVING_TABLES)
def test_every_serving_key_is_a_unique_constraint(name: str) -> None:
    constraints = [
        set(rule.fields)
        for rule in SERVED[name].model._meta.constraints
        if isinstance(rule, models.UniqueConstraint)
    ]
    assert set(SERVING_TABLES[name].key) in constraints


@pytest.mark.parametrize("name", SERVING_TABLES)
def test_texts_in_keys_are_bounded_so_that_an_index_can_hold_them(name: str) -> None:
    for key in SERVING_TABLES[name].key:
        field = SERVED[name].model._meta.get_field(key)
        assert not isinstance(field, models.TextField), key


REGISTERED = sorted(name for name in tasks.app.tasks if name.startswith(("pipeline.", "alerts.")))


def test_every_task_has_a_queue_and_every_queue_is_declared() -> None:
    declared = {*schedule.QUEUES}
    assert {task.queue for task in registry.tasks()} <= declared
    assert {task.name for task in registry.tasks()} == set(REGISTERED) - {"pipeline.tick"}


def test_tasks_keep_the_names_that_messages_of_other_releases_carry() -> None:
    assert REGISTERED == [
        "alerts.deliver",
        "alerts.evaluate",
        "pipeline.audit_storage",
        "pipeline.collect",
        "pipeline.discover",
        "pipeline.maintain",
        "pipeline.make_report",
        "pipeline.roll_up",
        "pipeline.spark_cycle",
        "pipeline.tick",
    ]


def test_work_goes_to_the_queue_of_its_own_workers() -> None:
    assert registry.work_of(keys.CYCLE).task.queue == schedule.SPARK
    assert registry.work_of(keys.collect_key(3)).task.queue == schedule.COLLECT


def test_every_task_has_a_time_limit() -> None:
    for name in REGISTERED:
        assert tasks.app.tasks[name].time_limit, name


def test_tasks_that_run_spark_have_a_minute_to_end_it() -> None:
    named = [
        tasks.app.tasks[name]
        for name in ("pipeline.spark_cycle", "pipeline.roll_up", "pipeline.audit_storage")
    ]
    assert [task.time_limit - task.soft_time_limit for task in named] == [60, 60, 60]


@pytest.mark.django_db
def test_models_and_migrations_agree() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.field)
def test_a_setting_of_a_source_is_a_column_a_form_field_and_an_option(setting: Setting) -> None:
    column = Cluster._meta.get_field(setting.field)
    kinds = {"address": models.CharField, "place": models.CharField, "places": models.JSONField}
    assert isinstance(column, kinds.get(setting.holds, models.Field))
    assert (is_web_url in column.validators) is (setting.holds == "address")
    assert setting.field in READ_FIELDS
    assert setting.field in {*ClusterForm.Meta.labels, *ClusterForm.declared_fields}
    options = {
        option
        for action in add_cluster.Command().create_parser("", "")._actions
        for option in action.option_strings
    }
    assert not setting.option or setting.option in options


def test_whatever_is_asked_or_opened_for_a_cluster_is_declared_by_a_source() -> None:
    leading = {
        field.name
        for field in Cluster._meta.fields
        if field.name.endswith(("url", "_dir", "_globs"))
    }
    assert leading == {setting.field for setting in settings("address", "place", "places")}
    assert {address for sign_in in SIGN_INS for address in sign_in.addresses} <= leading
    assert {sign_in.stored for sign_in in SIGN_INS} == set(SECRETS)


def test_the_audit_log_tells_whom_a_new_cluster_asks() -> None:
    entered = {
        setting.field: "http://jm:1/a?token=x" for setting in settings("address", "place", "places")
    }
    assert details(entered, "cluster.add") == dict.fromkeys(entered, "http://jm:1/a")


def test_no_door_shows_a_secret_of_a_cluster() -> None:
    assert not {*ClusterSerializer.Meta.fields, *ENTERED} & set(SECRETS)
