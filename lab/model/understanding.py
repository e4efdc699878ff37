"""Acts on what a conversation asks for, by pattern: no weights, and no pretence of any.

    messages, tools ──► Transcript ──► goals, in the order of the text ──► the first that wants a
                                                                           call makes it; if none
                                                                           does, all tell
Stateless: the same messages and tools give the same calls. The sample changes the words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lab.model.goal import Goal, Rule, Sight
from lab.model.goals import delete, fetch, lookup, named_tool, observation, talk, tasks, write
from lab.model.prompt import Found, Prompt
from lab.model.reply import Reply, Say, Think
from lab.model.transcript import read_transcript
from lab.model.wording import thinking

RULES: Final[tuple[Rule, ...]] = (
    *talk.WHOLE_LINE_RULES,
    *named_tool.RULES,
    *write.RULES,
    *observation.OBSERVATION_RULES,
    *fetch.RULES,
    *delete.RULES,
    *tasks.RULES,
    *lookup.RULES,
    *observation.REMEMBER_RULES,
    *talk.RULES,
)
"""What comes first may claim words that a later rule would read in another way."""


def understand(
    messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], *, sample: int
) -> Reply:
    transcript = read_transcript(messages, tools)
    sight = Sight(transcript, sample)
    steps = len(transcript.steps)
    told: list[str] = []
    reasons: list[str] = []
    for goal in plan(transcript.task) or [talk.NotUnderstood()]:
        move = goal.move(sight)
        if move.calls:
            thought = thinking(move.reason, sample=sample, steps=steps, done=False)
            return Reply(parts=(Think(thought), *move.calls))
        told.append(move.told)
        reasons.append(move.reason)
    thought = thinking(" ".join(reasons), sample=sample, steps=steps, done=True)
    return Reply(parts=(Think(thought), Say("\n\n".join(told))))


def plan(task: str) -> list[Goal]:
    """The goals of a text, in the order in which it names them."""
    prompt = Prompt.read(task)
    found: list[tuple[int, Goal]] = []
    for rule in RULES:
        position = 0
        while match := rule.pattern.search(prompt.masked, position):
            position = max(match.end(), position + 1)
            goal = rule.goal(Found(prompt, match))
            if goal is not None:
                prompt = prompt.without(match.start(), match.end())
                found.append((match.start(), goal))
    return [goal for _, goal in sorted(found, key=lambda pair: pair[0])]
