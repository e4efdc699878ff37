"""What stops a command of the lab."""


class LabFailure(Exception):
    """The command cannot go on. The message says why, and what to do about it."""
