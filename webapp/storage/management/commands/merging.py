"""Print what merging files would save in a root, and which merged files are worth compacting."""

from collections.abc import Iterator
from typing import Any

from webapp.lib.quantities import binary_text, bytes_text, count_text, percent_text
from webapp.storage.api.merging import as_document
from webapp.storage.merging import Merging, merging
from webapp.storage.models import RootFigures
from webapp.storage.root_command import RootCommand


class Command(RootCommand):
    help = (
        "Print how many small files of ROOT merging would save, and the merged files that hold most which no retained checkpoint needs, "
        "by its newest audit. Nothing is changed. Exit code 0, 2 where there is no audit."
    )

    def read(self, figures: RootFigures) -> Merging:
        return merging(figures)

    def document(self, found: Merging) -> Any:
        return as_document(found)

    def words(self, found: Merging) -> Iterator[str]:
        return _words(found)


def _words(found: Merging) -> Iterator[str]:
    yield f"{found.root_uri} at the audit of {found.as_of.isoformat()}"
    for one in found.benefits:
        of = f"up to {binary_text(one.up_to_bytes)}: {count_text(one.files)} files of {bytes_text(one.bytes)}"
        yield f"  {of}, merged {count_text(one.least)} at least: {percent_text(one.saved_share)} fewer"
    yield (
        f"{count_text(found.merged_files)} merged files of {bytes_text(found.on_disk_bytes)}, of which {bytes_text(found.live_bytes)} "
        f"are needed; compacting the following would free {bytes_text(found.freed_bytes)}"
    )
    for file in found.worth_compacting:
        yield f"  {bytes_text(file.unused_bytes):>10} of {bytes_text(file.bytes):>10}  {file.path}"
