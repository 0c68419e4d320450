"""Who asks at a command line."""

import getpass


def command_line_name() -> str:
    """Nobody is signed in at a command line, so it says whose account it was."""
    try:
        return f"{getpass.getuser()} at the command line"
    except (OSError, KeyError):
        return "the command line"
