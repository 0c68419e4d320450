from typing import Any

from django.db import migrations, models


def name_clusters(apps: Any, schema_editor: Any) -> None:
    """As rows do when they are saved."""
    for name in ("Silence", "MaintenanceWindow"):
        for row in apps.get_model("alerting", name).objects.iterator():
            named = [one.get("value", "") for one in row.matchers if one.get("label") == "cluster" and one.get("operator") == "="]
            if named:
                apps.get_model("alerting", name).objects.filter(pk=row.pk).update(cluster=named[0][:100])


class Migration(migrations.Migration):
    dependencies = [
        ("alerting", "0006_incidents"),
    ]

    operations = [
        migrations.AddField(
            model_name="maintenancewindow",
            name="cluster",
            field=models.CharField(blank=True, editable=False, help_text="that its matchers name; who sees it, sees this", max_length=100),
        ),
        migrations.AddField(
            model_name="silence",
            name="cluster",
            field=models.CharField(blank=True, editable=False, help_text="that its matchers name; who sees it, sees this", max_length=100),
        ),
        migrations.RunPython(name_clusters, migrations.RunPython.noop),
    ]
