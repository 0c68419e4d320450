"""Weir's ``manage.py`` commands, from their help."""

from django.core.management import get_commands, load_command_class

from webapp.site.documentation.markdown import plain, table


def pages() -> dict[str, str]:
    names = sorted(name for name, app in get_commands().items() if str(app).startswith("webapp."))
    rows = [
        (f"`{name}`", plain(load_command_class(get_commands()[name], name).help)) for name in names
    ]
    head = (
        "# Commands\n\nRun `.venv/bin/python manage.py COMMAND`. Each command has `--help`. "
        "The exit code is 0 if it succeeded.\n\n"
    )
    return {"reference/commands.md": f"{head}{table(('command', 'does'), rows)}\n"}
