from django.db import migrations, models

JOB_KEY = models.UniqueConstraint(fields=("audit", "directory"), name="storage_job_key")
CHAIN_KEY = models.UniqueConstraint(fields=("audit", "directory", "job_id", "other_directory", "kind"), name="storage_chain_key")


def without_directories(apps, schema_editor):
    """Rows of earlier audits do not tell the directories; the next audit writes them."""
    apps.get_model("storage", "JobStorage").objects.all().delete()
    apps.get_model("storage", "ChainLink").objects.all().delete()


def text(length, **more):
    return models.CharField(max_length=length, default="", **more)


class Migration(migrations.Migration):
    dependencies = [("storage", "0012_raw_bytes_and_merged_files")]

    operations = [
        migrations.RunPython(without_directories, migrations.RunPython.noop),
        migrations.RemoveConstraint("jobstorage", "storage_job_key"),
        migrations.RemoveConstraint("chainlink", "storage_chain_key"),
        migrations.AddField("jobstorage", "directory", text(1000), preserve_default=False),
        migrations.AddField("chainlink", "directory", text(600, blank=True), preserve_default=False),
        migrations.AddField("chainlink", "other_directory", text(600), preserve_default=False),
        migrations.AddConstraint("jobstorage", JOB_KEY),
        migrations.AddConstraint("chainlink", CHAIN_KEY),
    ]
