"""What a cell shows: plain text first, and HTML or SVG as a second view of the same thing.

Both twins of a `Display` are the same in every run. Colours are JupyterLab's own where they are
there, and legible on light and on dark where they are not; none says what no word says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

# At least 3 : 1 against white and against JupyterLab's dark ground alike.
GOOD: Final = "#388e3c"
BAD: Final = "#d84343"
OPEN: Final = "#b86e00"
FAINT: Final = "var(--jp-border-color1, #9e9e9e)"
MONOSPACE: Final = "var(--jp-code-font-family, monospace)"


@dataclass(frozen=True, kw_only=True)
class Display:
    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}


def lines(*parts: str) -> str:
    """One line a part; no line ends in blanks."""
    return "\n".join(part.rstrip() for part in parts)
