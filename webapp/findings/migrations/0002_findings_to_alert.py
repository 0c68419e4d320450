"""Which findings alerting has not taken up. Of those that are known already only the open ones are news to it."""

from django.db import migrations, models


def mark_open(apps, schema_editor):
    apps.get_model("findings", "Finding").objects.filter(state="open").update(to_alert=True)


class Migration(migrations.Migration):
    dependencies = [("findings", "0001_findings_and_sights")]

    operations = [
        migrations.AddField(
            model_name="finding",
            name="to_alert",
            field=models.BooleanField(default=False, help_text="it changed in a way that alerting has not taken up yet"),
        ),
        migrations.RunPython(mark_open, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="finding",
            name="to_alert",
            field=models.BooleanField(default=True, help_text="it changed in a way that alerting has not taken up yet"),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(condition=models.Q(("to_alert", True)), fields=["id"], name="finding_to_alert"),
        ),
    ]
