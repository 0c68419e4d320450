"""What can stop a clean-up. Every message is a sentence that says what to do next."""

from webapp.lib.refusals import ActionRefused


class CleanupError(Exception):
    """Base of all; the message is safe to show."""


class PlanRefused(ActionRefused, CleanupError):
    """No plan was made, because what was asked for makes no sense or nothing may be cleaned."""


class PlanDamaged(CleanupError):
    """The plan's files are not those that its name stands for. Nothing of it is applied, ever."""


class PlanActionRefused(ActionRefused, CleanupError):
    """The plan is not approved, has expired, or is past the state in which this can be done.

    Nothing was done.
    """


class Halted(CleanupError):
    """Doubt arose while the plan was carried out.

    What was done is in the journal; nothing more was done.
    """


class PutBack(Halted):
    """A retained checkpoint missed what the plan had moved; everything is back where it was, and
    the plan is over.
    """
