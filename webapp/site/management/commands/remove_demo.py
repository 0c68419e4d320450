from typing import Any

from django.utils import timezone

from webapp.config.preparation import PreparedCommand
from webapp.site.removal import remove_demo


class Command(PreparedCommand):
    help = (
        "Remove the demo: the clusters that replay the shipped recordings. It stays removed until "
        "you delete WEIR_HOME/demo/removed and add each of its clusters again."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        removed = remove_demo(timezone.now())
        self.stdout.write(
            f"The demo is removed: {removed} clusters are no longer watched."
            if removed
            else "There is no demo here."
        )
