from django.db import models

from webapp.lib.scoped_rows import fleet_wide


@fleet_wide()
class DeclaredRow(models.Model):
    """A row of the configuration that a file states, so that pages may not change it."""

    kind = models.CharField(max_length=40, help_text="a name of webapp.site.declared.registry")
    key = models.CharField(max_length=1_000, help_text="of its kind")
    file = models.CharField(max_length=300, help_text="its path below the applied directory")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="declared_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} of {self.file}"
