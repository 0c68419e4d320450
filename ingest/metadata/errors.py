"""What can be wrong with a ``_metadata`` file, each with the byte position and what was expected
there.

All are ``Skipped``: the file is reported and others go on. Deletion must treat each of them as
doubt, because the file may be the only one that refers to something.
"""

from ingest.errors import Skipped
from ingest.messages import message


class MetadataError(Skipped):
    """``position`` is in bytes from the start of the file, ``expected`` a phrase that names the
    field.
    """

    def __init__(self, position: int, expected: str, reason: str) -> None:
        self.position = position
        self.expected = expected
        self.found = reason
        super().__init__(
            message(
                "at byte {position:count}: expected {expected:text}, found {found:text}",
                position=position,
                expected=self.expected,
                found=self.found,
            )
        )


class IncompleteMetadata(MetadataError):
    """The file ends too early: it is still being written, or its writer died."""


class DamagedMetadata(MetadataError):
    """The bytes contradict the format."""


class UnsupportedMetadata(MetadataError):
    """A format version or a kind of handle that this reader does not know."""
