"""The page is served as the integration tests serve it; so their `served` is on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "integration"))
