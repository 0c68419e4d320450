"""An app is called as its folder, and its tables as the app and the model."""

from django.apps import apps

OWN = [config for config in apps.get_app_configs() if config.name.startswith("webapp.")]


def test_an_app_is_called_as_its_folder():
    assert [config.name for config in OWN] == [f"webapp.{config.label}" for config in OWN]


def test_a_table_is_called_as_its_app_and_its_model():
    tables = {
        model._meta.db_table: f"{config.label}_{model._meta.model_name}"
        for config in OWN
        for model in config.get_models(include_auto_created=True)
    }
    assert len(tables) > len(OWN)
    assert [*tables] == [*tables.values()]
