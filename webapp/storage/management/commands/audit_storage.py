import json
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from ingest.errors import IngestError
from ingest.storage.instants import refuse_future
from spark_jobs.storage_words import LIVE, NOT_CLEANABLE, REASONS, VERDICTS
from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.lib.printing import print_lines
from webapp.lib.quantities import bytes_text, count_text
from webapp.storage.auditing import audit_request, loading
from webapp.storage.auditing.audit_run import audit, by_hand
from webapp.storage.choices import AuditPurpose
from webapp.storage.models import RootFigures, StorageAudit, StorageRoot, VerdictFigures
from webapp.storage.presentation import second_names
from webapp.storage.verdict_files import FileQuery, VerdictFiles


class Command(PreparedCommand):
    help = (
        "Show for every file below ROOT (default: all registered roots) whether something needs it: "
        "live, retained waste, orphan, too recent to be judged, or kept because of a doubt. Roots "
        "need not be registered. Nothing is deleted. Exit code 0, 1 if the audit failed, 2 if the "
        "input is invalid."
    )

    refusals = (IngestError,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "roots",
            nargs="*",
            metavar="ROOT",
            help="URI as in Flink: s3://bucket/flink, hdfs://…, file:/… or a path",
        )
        parser.add_argument(
            "--listing",
            default="",
            metavar="FILE",
            help=(
                "an inventory instead of listing ROOT: a file, a folder, a glob or a manifest of "
                "S3, Google, Azure or HDFS"
            ),
        )
        parser.add_argument(
            "--at",
            metavar="DIR",
            help="where the files of ROOT are read: another mount, or a copied tree",
        )
        parser.add_argument(
            "--as-of",
            default="",
            metavar="INSTANT",
            help=(
                "when the listing began (default: now, or as the inventory says); not in the future"
            ),
        )
        parser.add_argument(
            "--age-guard",
            type=int,
            metavar="HOURS",
            help="newer files are not orphans (default: WEIR_STORAGE_AGE_GUARD_H)",
        )
        parser.add_argument("--fresh", action="store_true", help="parse every _metadata again")
        parser.add_argument(
            "--json",
            action="store_true",
            help="figures of each root, then one line for each file that is not live",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        request = self._request(options)
        with by_hand(self.say) as (lease, record):
            row = audit(request, lease, record)
        print_lines(self.stdout, _json_lines(row) if options["json"] else _text_lines(row))

    def _request(self, options: dict[str, Any]) -> audit_request.AuditRequest:
        guard_h = options["age_guard"] or settings.WEIR.storage_age_guard_h
        if guard_h < 24:
            raise CommandRefused("--age-guard must be at least 24 hours.")
        if (options["at"] or options["listing"]) and len(options["roots"]) != 1:
            raise CommandRefused("--at and --listing are for one ROOT: name it.")
        if options["roots"]:
            roots = audit_request.typed_roots(options["roots"], options["at"])
        else:
            rows = list(StorageRoot.objects.audited().prefetch_related("clusters"))
            roots = audit_request.registered_roots(rows, audit_request.unreachable_clusters())
        if not roots:
            raise CommandRefused(
                "No root is registered: name one, or add it with manage.py add_storage_root.",
            )
        return audit_request.AuditRequest(
            roots,
            age_guard_h=guard_h,
            purpose=AuditPurpose.COMMAND,
            fresh=options["fresh"],
            inventory=options["listing"],
            as_of=_instant(options["as_of"]),
        )


def _instant(text: str) -> datetime | None:
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise CommandRefused(
            f"--as-of {text!r} is no instant; give one such as 2026-11-21T04:12:00Z.",
        ) from error
    return refuse_future(
        at if at.tzinfo else at.replace(tzinfo=timezone.get_default_timezone()),
        timezone.now(),
        "--as-of",
    )


def _json_lines(row: StorageAudit) -> Iterator[str]:
    for root in RootFigures.objects.filter(audit=row).order_by("root"):
        yield json.dumps(root_line(root), ensure_ascii=False)
    for file in VerdictFiles.of(loading.read_manifest(row)).matching(FileQuery()):
        yield json.dumps(file, ensure_ascii=False, default=_iso)


def root_line(root: RootFigures) -> dict[str, Any]:
    verdicts = {
        name: {"files": getattr(root, f"{name}_files"), "bytes": getattr(root, f"{name}_bytes")}
        for name in (*VERDICTS, "missing")
    }
    return {
        "root": root.root,
        "as_of": root.as_of.isoformat(),
        "files": root.files,
        "bytes": root.bytes,
        **verdicts,
        "checkpoints": root.checkpoints,
        "unlisted": root.unlisted,
        "doubts": root.doubts,
        "cleanable": root.cleanable,
        "not_cleanable": root.not_cleanable,
    }


def _text_lines(row: StorageAudit) -> Iterator[str]:
    for root in RootFigures.objects.filter(audit=row).order_by("root"):
        yield (
            f"{root.root}  as of {root.as_of:%Y-%m-%d %H:%M:%S} UTC: {count_text(root.files)} "
            f"files, {bytes_text(root.bytes)}"
        )
        for name in (*VERDICTS, "missing"):
            yield _line(
                "  ",
                getattr(root, f"{name}_files"),
                getattr(root, f"{name}_bytes"),
                name.replace("_", " "),
            )
            parts = (
                VerdictFigures.objects.filter(audit=row, root=root.root, verdict=name)
                if name != LIVE
                else ()
            )
            for part in sorted(parts, key=lambda part: (-part.bytes, part.reason)):
                yield _line(
                    "      ", part.files, part.bytes, REASONS[name].get(part.reason, part.reason)
                )
        if root.not_cleanable:
            yield "  No plan can be made: " + " ".join(
                NOT_CLEANABLE.get(reason, reason) for reason in root.not_cleanable
            )
            yield from (f"    {line}" for line in second_names(row, root.root))


def _line(indent: str, files: int, size: int, text: str) -> str:
    return f"{indent}{count_text(files):>12} files  {bytes_text(size):>8}  {text}"


def _iso(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)
