"""The file that a restore did not find, read from a stack trace. Each file system has its own
message. The path is as the client prints it, on HDFS often without NameNode.
"""

import re

_PATH = r"[^\n'\"]{1,2000}?"
_LOCAL = rf"(?:/|[A-Za-z]:\\){_PATH}"
_SYSTEM_MESSAGES = (
    "No such file or directory",
    "Datei oder Verzeichnis nicht gefunden",
    "Aucun fichier ou dossier de ce (?:type|nom)",
    "No existe el (?:fichero|archivo) o el directorio",
    "Arquivo ou diretório (?:não encontrado|inexistente)",
    "File o directory non esistente",
    "Нет такого файла или каталога",
    "没有那个文件或目录",
    "沒有此一檔案或目錄",
    "そのようなファイルやディレクトリはありません",
    "그런 파일이나 디렉터리가 없습니다",
    "Nie ma takiego pliku ani katalogu",
    "Bestand of map bestaat niet",
    "Böyle bir dosya ya da dizin yok",
    "Немає такого файла або каталогу",
    "Adresář nebo soubor neexistuje",
    "Filen eller katalogen finns inte",
    "The system cannot find the (?:file|path) specified",
    "Das System kann (?:die angegebene Datei|den angegebenen Pfad) nicht finden",
    "Le (?:fichier|chemin d.accès) spécifié est introuvable",
    "系统找不到指定的(?:文件|路径)",
    "指定されたファイルが見つかりません",
    "El sistema no puede encontrar el archivo especificado",
    "O sistema não pode encontrar o arquivo especificado",
    "Impossibile trovare il file specificato",
    "지정된 파일을 찾을 수 없습니다",
    "(?:Системе )?[Нн]е удается найти указанный (?:файл|путь)",
    "Nie można odnaleźć określonego pliku",
    "系統找不到指定的(?:檔案|路徑)",
)
_EXPRESSIONS = (
    # Flink, if a whole snapshot is missing (AbstractFsCheckpointStorageAccess).
    rf"Cannot find checkpoint or savepoint file/directory '({_PATH})'",
    rf"Cannot find meta data file '_metadata' in directory '({_PATH})'",
    # java.io.FileInputStream with the operating system's message, and java.nio.
    rf"FileNotFoundException: ({_LOCAL}) \((?:{'|'.join(_SYSTEM_MESSAGES)})[.。]?\)",
    rf"NoSuchFileException: ({_LOCAL})(?:\n|\Z)",
    # LocalFileSystem of Flink and of Hadoop, listings of HDFS.
    rf"FileNotFoundException: File ({_PATH}) does not exist(?: or the user running|[.]?(?:\n|\Z))",
    # Paimon, of its own files.
    r"FileNotFoundException: File '([^'\n]{1,2000})' not found",
    # The NameNode (INodeFile), DistributedFileSystem.
    rf"File does not exist: ({_PATH})(?: \(inode [^\n]*)?(?:\n|\Z)",
    # S3AFileSystem and others of Hadoop; Aliyun's puts the path first.
    rf"No such file or directory: ({_PATH})(?:\n|\Z)",
    rf"FileNotFoundException: ([a-z0-9]+://{_PATH}): (?:No such file or directory|does not exist)",
    # S3AInputStream, which reopens files.
    rf"(?:[Rr]e-?open|open|getFileStatus)(?: at position [0-9]+)?(?: on)? (s3a://{_PATH})"
    rf"(?: at [0-9]+ on s3a://{_PATH})?: ",
    # Azure's data lake (AbfsRestOperationException).
    r"(?:specified (?:path|blob|resource) does not exist|PathNotFound|BlobNotFound)[^\n]{0,40}?, "
    r"404,"
    r" [A-Z]{3,6}, (https://[^\s?,'\"]{1,2000})",
    # Tencent's CosN, Hadoop's first S3 client; clients that Aliyun and Google publish.
    rf"No such file or directory '([a-z0-9]+://{_PATH})'",
    r"(?:OSSException|ErrorCode\]: NoSuchKey)[\s\S]{0,600}?<Key>([^<\n]{1,2000})</Key>",
    rf"No such object: ({_PATH})(?:\\?\"|\n|\Z)",
    # Google's connector; Flink's own S3 file system, whose reads wrap NoSuchKey.
    rf"(?:File|Directory) not found: '?([a-z0-9]+://{_PATH})'?(?:\n|\Z)",
    rf"Failed to open S3 stream for ({_PATH})(?:\n|\Z)",
    # PrestoS3FileSystem, around S3's answer; Google's connector.
    rf"\(Path: (s3[anp]?://{_PATH})\)",
    rf"Item not found: '?(gs://{_PATH})'?(?:\.|\n|\Z)",
)
_PATTERNS = tuple(map(re.compile, _EXPRESSIONS))
_RESTORING = (
    "StreamTaskStateInitializerImpl",
    "BackendRestorerProcedure",
    "Cannot find checkpoint or savepoint file/directory",
    "Cannot find meta data file",
)
"""Only in traces of restores: writes of checkpoints and user functions may miss files too."""
_LOCAL_READERS = ("flink.core.fs.local.Local", "java.io.FileInputStream")
_HINTS = (
    "Cannot find",
    "FileNotFound",
    "NoSuchFile",
    "does not exist",
    "No such file",
    "Item not found",
    "NoSuchKey",
    "No such object",
    "File not found",
    "Directory not found",
    "PathNotFound",
    "BlobNotFound",
)


def missing_file(text: str | None) -> str | None:
    """The path; None if a message or trace names no missing file."""
    text = text or ""
    if not any(piece in text for piece in _HINTS):
        return None
    # The innermost cause has the storage's own message.
    mentions = [
        (match.start(), match[1].strip())
        for pattern in _PATTERNS
        for match in pattern.finditer(text)
    ]
    return max(mentions)[1] if mentions else None


def missing_at_restore(trace: str | None) -> str | None:
    """The path, if the exception is of a restore."""
    return missing_file(trace) if any(piece in (trace or "") for piece in _RESTORING) else None


def is_on_local_disk(trace: str | None) -> bool:
    """Whether the file was looked for on a local disk, which hosts may not share."""
    return any(piece in (trace or "") for piece in _LOCAL_READERS)
