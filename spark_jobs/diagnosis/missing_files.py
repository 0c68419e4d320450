"""The file that a restore looked for in vain, read from a stack trace.

Each file system has its own words for a file that is not there; the path is spelled as its client
prints it, on HDFS often without the name of the NameNode.
"""

import re

_PATH = r"[^\n'\"]{1,2000}?"
_SPELLINGS = (
    # Flink's own, for a checkpoint or savepoint as a whole (AbstractFsCheckpointStorageAccess).
    rf"Cannot find checkpoint or savepoint file/directory '({_PATH})'",
    rf"Cannot find meta data file '_metadata' in directory '({_PATH})'",
    # java.io.FileInputStream, and java.nio.
    rf"FileNotFoundException: (/{_PATH}) \(No such file or directory\)",
    rf"NoSuchFileException: (/{_PATH})(?:\n|\Z)",
    # The NameNode (INodeFile), DistributedFileSystem.
    rf"File does not exist: ({_PATH})(?: \(inode [^\n]*)?(?:\n|\Z)",
    # S3AFileSystem and others of Hadoop; Aliyun's puts the path first.
    rf"No such file or directory: ({_PATH})(?:\n|\Z)",
    rf"FileNotFoundException: ([a-z0-9]+://{_PATH}): No such file or directory",
    # PrestoS3FileSystem, around S3's answer; Google's connector.
    rf"\(Path: (s3[an]?://{_PATH})\)",
    rf"Item not found: '?(gs://{_PATH})'?(?:\.|\n|\Z)",
)
_TOLD = tuple(map(re.compile, _SPELLINGS))
_RESTORING = (
    "StreamTaskStateInitializerImpl",
    "BackendRestorerProcedure",
    "Cannot find checkpoint or savepoint file/directory",
    "Cannot find meta data file",
)
"""Where state is read: a task that writes a checkpoint, or a user's function, may miss a file
too.
"""
_MISSING = (
    "FileNotFound",
    "NoSuchFile",
    "does not exist",
    "No such file",
    "Item not found",
    "NoSuchKey",
)


def missing_file(text: str | None) -> str | None:
    """The path in one exception's message or trace, whatever looked for it; None where no file is
    said to be missing.
    """
    text = text or ""
    if not any(piece in text for piece in _MISSING) and "Cannot find" not in text:
        return None
    # The innermost cause says it as the storage does.
    mentions = [
        (match.start(), match[1].strip()) for pattern in _TOLD for match in pattern.finditer(text)
    ]
    return max(mentions)[1] if mentions else None


def missing_at_restore(trace: str | None) -> str | None:
    """The same, of an attempt that failed while it read its state."""
    return missing_file(trace) if any(piece in (trace or "") for piece in _RESTORING) else None
