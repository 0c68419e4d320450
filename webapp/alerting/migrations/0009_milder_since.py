from typing import Any

from django.db import migrations, models
from django.db.models import F


def know_by_present_severity(apps: Any, schema_editor: Any) -> None:
    """Since when these are milder than was notified was not kept: a rise from now on is notified once too often rather than never."""
    milder = apps.get_model("alerting", "Alert").objects.filter(told="firing", told_rank__gt=F("severity_rank"))
    milder.update(told_rank=F("severity_rank"))


class Migration(migrations.Migration):
    dependencies = [("alerting", "0008_alerts_of_recordings")]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="milder_since",
            field=models.DateTimeField(help_text="since when its severity is lower than that; null where it is not", null=True),
        ),
        migrations.AlterField(
            model_name="alert",
            name="told_rank",
            field=models.PositiveSmallIntegerField(default=0, help_text="severity that people know it by; a worse one is notified"),
        ),
        migrations.RunPython(know_by_present_severity, migrations.RunPython.noop, elidable=True),
    ]
