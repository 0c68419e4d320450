"""Files of the local file system by path. No link below a root is followed."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

from ingest import beneath
from ingest.storage import folders


class LocalFiles:
    """``root``: ``None`` for a user's path, whose directories may be links."""

    def __init__(self, root: str | None = None) -> None:
        self._root = root

    @contextmanager
    def at(self, path: str, make: beneath.Make = None) -> Iterator[tuple[int, str]]:
        """Yields a descriptor of the path's directory, and its name in it. Raises ``OSError``."""
        root = Path(path).parent if self._root is None else Path(self._root)
        names = beneath.names_below(root, path)
        if not names:
            raise IsADirectoryError(f"{path} is a root, not a file in it")
        if make == "like_parent":
            folders.make(root)
        elif make == "private":
            root.mkdir(parents=True, exist_ok=True)
        with beneath.open_folder(root, names[:-1], make=make) as parent:
            yield parent, names[-1]

    def stat(self, path: str) -> os.stat_result:
        with self.at(path) as (parent, name):
            return os.stat(name, dir_fd=parent, follow_symlinks=False)

    def open(self, path: str, mode: Literal["rb"] = "rb") -> BinaryIO:
        with self.at(path) as (parent, name):
            if not stat.S_ISREG(beneath.refuse_link(parent, name, path).st_mode):
                raise OSError(f"{path} is no regular file")
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            return os.fdopen(os.open(name, flags, dir_fd=parent), mode)

    def create(self, path: str) -> BinaryIO:
        with self.at(path) as (parent, name):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.fdopen(os.open(name, flags, 0o666, dir_fd=parent), "wb")

    def copy_attributes(
        self, path: str, other: os.stat_result, mask: int = 0o777, *, times: bool = False
    ) -> None:
        with self.open(path) as file:
            if times:
                os.utime(file.fileno(), ns=(other.st_atime_ns, other.st_mtime_ns))
            beneath.copy_mode(file.fileno(), other, mask)

    def link(self, path: str, target_files: "LocalFiles", target: str) -> None:
        with (
            self.at(path) as (parent, name),
            target_files.at(target) as (target_parent, target_name),
        ):
            beneath.refuse_link(parent, name, path)
            os.link(
                name,
                target_name,
                src_dir_fd=parent,
                dst_dir_fd=target_parent,
                follow_symlinks=False,
            )

    def rename(self, path: str, target: str) -> None:
        with self.at(path) as (parent, name), self.at(target) as (target_parent, target_name):
            os.rename(name, target_name, src_dir_fd=parent, dst_dir_fd=target_parent)

    def unlink(self, path: str) -> None:
        with self.at(path) as (parent, name):
            os.unlink(name, dir_fd=parent)

    def make_folder_of(self, path: str, *, private: bool = False) -> None:
        with self.at(path, "private" if private else "like_parent"):
            pass

    def sync_folder_of(self, path: str) -> None:
        with self.at(path) as (parent, _), _open(parent, ".") as descriptor:
            os.fsync(descriptor)

    def names(self, path: str) -> list[str]:
        with self.at(path) as (parent, name), _open(parent, name) as descriptor:
            return os.listdir(descriptor)  # noqa: PTH208 - a descriptor, not a path

    def remove_empty(self, path: str) -> None:
        with suppress(OSError), self.at(path) as (parent, name):
            for _, directories, _, descriptor in os.fwalk(name, topdown=False, dir_fd=parent):
                for directory in directories:
                    with suppress(OSError):
                        os.rmdir(directory, dir_fd=descriptor)
            os.rmdir(name, dir_fd=parent)

    def remove_tree(self, path: str) -> None:
        with suppress(FileNotFoundError), self.at(path) as (parent, name):
            shutil.rmtree(name, dir_fd=parent)


@contextmanager
def _open(parent: int, name: str) -> Iterator[int]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
