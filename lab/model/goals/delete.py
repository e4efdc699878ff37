"""Delete entities from the knowledge graph: the tool that a person may have to approve."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from lab.model.goal import Goal, Move, Rule, Sight
from lab.model.prompt import REST, Found
from lab.model.reply import Call


@dataclass(frozen=True)
class Delete:
    entities: tuple[str, ...]

    def move(self, sight: Sight) -> Move:
        names = list(self.entities)
        deleted = sight.claim(
            "delete_entities", lambda arguments: arguments.get("entityNames") == names
        )
        tool = sight.tool("delete_entities")
        quoted = " and ".join(f'"{name}"' for name in names)
        if deleted is None:
            if tool is None:
                return Move(
                    reason="I am offered no tool that deletes entities.",
                    told=f"I have no tool that deletes, so {quoted} stays as it is.",
                )
            return Move(
                reason=f"I am asked to delete {quoted} from the knowledge graph.",
                calls=(Call(tool, {"entityNames": names}),),
            )
        if deleted.failed:
            return Move(
                reason="It was not deleted, and I am told why.",
                told=f"I did not delete {quoted}. I was told: {deleted.words}",
            )
        return Move(
            reason="The tool says that it is done.",
            told=sight.pick(
                f"I deleted {quoted} from the knowledge graph.",
                f"{quoted} is deleted from the knowledge graph.",
            ),
        )


def _delete(found: Found) -> Goal | None:
    plain = re.findall(
        r"\b(?:entity|node)\s+(?:(?:named|called)\s+)?([\w](?:[\w.\-]*\w)?)", found.text
    )
    about = re.search(
        r"\b(?:forget|about)\s+(?:everything\s+about\s+|about\s+)?(?:the\s+|an?\s+)?([\w.\- ]+?)\W*$",
        found.text,
        re.IGNORECASE,
    )
    names = found.quoted or plain or ([about[1]] if about else [])
    return Delete(tuple(names)) if names else None


RULES: Final[tuple[Rule, ...]] = (
    Rule(rf"\b(?:delete|remove)\b{REST}?\b(?:entit(?:y|ies)|nodes?)\b{REST}", _delete),
    Rule(rf"(?<!not )(?<!n't )\bforget\b{REST}", _delete),
)
