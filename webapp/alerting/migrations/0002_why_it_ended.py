from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("alerting", "0001_alerts_groups_and_mutes"),
    ]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="ended_because",
            field=models.TextField(blank=True, default="", help_text="why it ended, where that is not what its rule saw"),
            preserve_default=False,
        ),
    ]
