"""Write to the knowledge graph: an observation on an entity, which may have to be created first."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from lab.model.goal import Move, Sight
from lab.model.reply import Call
from lab.model.summary import summarise
from lab.model.transcript import Step


@dataclass(frozen=True, kw_only=True)
class Save:
    """An observation on an entity. `content` None means the sentence that came before.

    The observation is added first. If the entity is not there, it is created with it.
    """

    entity: str
    entity_type: str
    content: str | None

    def move(self, sight: Sight) -> Move:
        content = self.content or sight.sentence or _last_sentence(sight)
        if content is None:
            return Move(
                reason="There is no sentence that I could save.",
                told="I have saved nothing: there is no sentence to save.",
            )
        add, create = sight.tool("add_observations"), sight.tool("create_entities")
        if add is None and create is None:
            return Move(
                reason="I was asked to save something, but I am offered no tool for it.",
                told="I have no tool that writes to a knowledge graph, so nothing is saved beyond"
                " this conversation.",
            )
        added = sight.claim("add_observations", self._is_on_entity)
        created = sight.claim("create_entities", self._creates_entity)
        if added is None and created is None and add is not None:
            return self._add(add, content)
        if created is not None:
            return self._told_created(created, content, sight)
        if create is not None and (added is None or _is_missing(added)):
            return self._create(create, content, added)
        assert added is not None
        return self._told_added(added, content, sight)

    def _add(self, tool: str, content: str) -> Move:
        observation = {"entityName": self.entity, "contents": [content]}
        return Move(
            reason=f'I know what to save: "{content}" It belongs on the entity "{self.entity}". I'
            " add it as an observation; should the entity not exist, the tool will say so.",
            calls=(Call(tool, {"observations": [observation]}),),
        )

    def _create(self, tool: str, content: str, added: Step | None) -> Move:
        entity = {
            "name": self.entity,
            "entityType": self.entity_type,
            "observations": [content],
        }
        said = f"The tool says: {added.words}. " if added is not None else ""
        return Move(
            reason=f'{said}So the entity "{self.entity}" has to be created, with the sentence as its'
            " first observation.",
            calls=(Call(tool, {"entities": [entity]}),),
        )

    def _told_added(self, added: Step, content: str, sight: Sight) -> Move:
        if added.failed:
            return _told_failure(added)
        return Move(
            reason="The observation is in the graph.",
            told=sight.pick(
                f'I saved "{content}" as an observation on the entity "{self.entity}".',
                f'The entity "{self.entity}" now has the observation "{content}"',
            ),
        )

    def _told_created(self, created: Step, content: str, sight: Sight) -> Move:
        if created.failed:
            return _told_failure(created)
        if (created.result or "").strip() == "[]":
            return Move(
                reason="The tool created nothing, so the entity must have been there already.",
                told=f'The entity "{self.entity}" was there already, so nothing was created.',
            )
        return Move(
            reason="The entity is in the graph, with its observation.",
            told=sight.pick(
                f'I saved "{content}" as an observation on the new entity "{self.entity}".',
                f'I created the entity "{self.entity}" with the observation "{content}"',
            ),
        )

    def _is_on_entity(self, arguments: dict[str, Any]) -> bool:
        return f'"entityName": {json.dumps(self.entity)}' in json.dumps(arguments)

    def _creates_entity(self, arguments: dict[str, Any]) -> bool:
        return f'"name": {json.dumps(self.entity)}' in json.dumps(arguments)


def _is_missing(added: Step) -> bool:
    return (
        added.failed
        and re.search(r"not found|no such|not exist", added.words, re.IGNORECASE) is not None
    )


def _told_failure(step: Step) -> Move:
    return Move(
        reason="The tool did not do what I asked, and asking again would not be wise.",
        told=f"I do not know that anything was saved. The tool says: {step.words}",
    )


def _last_sentence(sight: Sight) -> str | None:
    before = sight.transcript
    source = before.pages[-1] if before.pages else before.last_answer
    return summarise(source) if source else None
