from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("fleet", "0001_clusters_jobs_and_events"),
    ]

    operations = [
        migrations.CreateModel(
            name="RemovedCluster",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                ("removed_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
