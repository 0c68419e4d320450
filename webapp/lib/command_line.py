import getpass
import sys


def command_line_name() -> str:
    try:
        return f"{getpass.getuser()} at the command line"
    except (OSError, KeyError):
        return "the command line"


def ask_secret(name: str) -> str:
    """A line of standard input, which a terminal does not show."""
    if sys.stdin.isatty():
        return getpass.getpass(f"{name}: ")
    return sys.stdin.readline().rstrip("\r\n")
