"""healthy.py URL: exit 0 if the URL answers with success, for a container's health check.

Asked of 127.0.0.1 from inside the container. Standard library alone: it runs in every image.
"""

from __future__ import annotations

import sys
from typing import Final
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

PATIENCE: Final = 4.0  # seconds; less than a health check's own timeout


def main(url: str) -> int:
    # A proxy for the way out has no business between a container and itself.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(url, timeout=PATIENCE) as answer:
            print(answer.status, url)
    except (URLError, OSError) as error:
        print(f"{url}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
