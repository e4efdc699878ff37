"""How the scripted model sounds while it thinks. Only the words differ from sample to sample."""

from __future__ import annotations

from typing import Final

# Said at the start of every reply's thinking, so that nobody takes it for a language model.
HONEST: Final = "This is scripted reasoning."

OPENINGS: Final = (
    "Okay, let me take this step by step.",
    "Let me see what is asked of me here.",
    "Right, one thing at a time.",
    "First I look at what there is, then at what is missing.",
)
CLOSINGS: Final = (
    "That is the next thing to do.",
    "Nothing else has to happen before that.",
    "So that comes next.",
)
DONE: Final = (
    "Nothing is left to do, so I can answer.",
    "That was everything, so here is the answer.",
    "I have what I need for the answer.",
)


def thinking(reason: str, *, sample: int, steps: int, done: bool) -> str:
    """A thought around a reason. `steps` is how many calls were made before."""
    turn = sample + steps
    closings = DONE if done else CLOSINGS
    opening = OPENINGS[turn % len(OPENINGS)]
    return f"{HONEST} {opening} {reason} {closings[turn % len(closings)]}"
