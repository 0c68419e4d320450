from django.db import migrations, models


def take_over(apps, schema_editor):
    """Who asked for a copy so far was not kept with what they saw: where nobody's view is narrowed, they saw all."""
    if not apps.get_model("accounts", "User").objects.filter(sees__isnull=False).exists():
        apps.get_model("replication", "Replica").objects.update(asker_clusters=None)


class Migration(migrations.Migration):
    dependencies = [
        ("replication", "0002_orders_of_people"),
        ("accounts", "0004_scopes"),
    ]

    operations = [
        migrations.AddField(
            model_name="replica",
            name="asker_clusters",
            field=models.JSONField(
                default=list, help_text="that whoever asked for it saw; null: all. Roots of others are not read", null=True
            ),
        ),
        migrations.RunPython(take_over, migrations.RunPython.noop),
    ]
