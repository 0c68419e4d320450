"""Java's modified UTF-8: NUL is ``C0 80``, characters beyond the BMP are two surrogates of three bytes each."""


def decode(written: bytes) -> str:
    """Raises ``UnicodeDecodeError`` for what ``DataInput.readUTF`` refuses, and for a surrogate without its pair."""
    for position, byte in enumerate(written):
        if byte >= 0xF0:
            raise UnicodeDecodeError("modified utf-8", written, position, position + 1, "a byte that never occurs")
    halves = written.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
    try:
        return halves.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    except UnicodeDecodeError as error:
        raise UnicodeDecodeError("modified utf-8", written, 0, len(written), "half of a surrogate pair") from error
