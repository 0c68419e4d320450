"""The three groups that roles are made of."""

from django.db import migrations


def create_groups(apps, schema_editor):
    group = apps.get_model("auth", "Group")
    for name in ("viewer", "operator", "admin"):
        group.objects.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_people_and_tokens")]
    operations = [migrations.RunPython(create_groups, migrations.RunPython.noop)]
