from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerting", "0007_cluster_of_mutes")]

    operations = [
        migrations.AlterField(
            model_name="alert",
            name="recorded",
            field=models.BooleanField(default=False, help_text="of a recording: judged in its own time, notified without repetition"),
        ),
    ]
