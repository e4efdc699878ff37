"""`python3 -m lab`: the way in, on a machine that has Python and nothing else.

Any Python must be able to read this one file, to be told that it is too old.
"""

import sys

OLDEST_PYTHON = (3, 11)

if sys.version_info < OLDEST_PYTHON:
    sys.exit(
        "Sophos needs Python 3.11 or newer, and this is %d.%d. "  # noqa: UP031 - older ones read it
        "Install a newer one and start it by its name, as in: python3.11 -m lab"
        % sys.version_info[:2]
    )

# Only now: what it imports does not parse on an older Python.
from lab.commands import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
