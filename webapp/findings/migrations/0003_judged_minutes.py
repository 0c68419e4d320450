from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("findings", "0002_findings_to_alert"),
    ]

    operations = [
        migrations.AddField(
            model_name="jobjudgement",
            name="covered",
            field=models.JSONField(default=list, help_text="judged minutes of all its life"),
        ),
    ]
