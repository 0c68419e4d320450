"""The form of a root. :mod:`webapp.storage.registration` checks more than single fields."""

from typing import Any

from django import forms

from webapp.lib.translations import gettext_lazy as _
from webapp.storage.models import StorageRoot


class StorageRootForm(forms.ModelForm):
    class Meta:
        model = StorageRoot
        fields = (
            "uri",
            "kind",
            "read_at",
            "clusters",
            "enabled",
            "quarantine_uri",
        )
        labels = {
            "uri": "URI",
            "kind": _("What lies there"),
            "read_at": _("Read at"),
            "clusters": _("Clusters"),
            "enabled": _("Audit it"),
            "quarantine_uri": _("Quarantine"),
        }
        help_texts = {
            "enabled": "",  # its label says it
            "uri": _("state.checkpoints.dir, such as s3://bucket/flink or hdfs://ns/flink"),
            "read_at": _(
                "Where Weir reads the same files, if elsewhere: another mount or endpoint."
            ),
            "clusters": _("That write to it or read from it."),
            "quarantine_uri": _(
                "Where a clean-up moves files; empty for a directory beside the root."
            ),
        }
        widgets = {"clusters": forms.SelectMultiple(attrs={"size": 6})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["uri"].widget.attrs["placeholder"] = "s3://bucket/checkpoints"
        if self.instance.pk:
            self.fields["uri"].disabled = True

    def validate_unique(self) -> None:
        """Skipped: registration compares canonical spellings of the URI."""
