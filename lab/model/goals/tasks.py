"""Create, list and delete tasks, and run a slow one: tools whose effects can be counted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from lab.model.goal import Goal, Move, Rule, Sight
from lab.model.prompt import REST, Found
from lab.model.reply import Call
from lab.model.transcript import Step

NO_TRACKER: Final = "I have no tool for that: no task tracker is offered to me."


@dataclass(frozen=True, kw_only=True)
class CreateTasks:
    """Tasks to create, all in one turn. `once` prefers the tool that takes a key."""

    titles: tuple[str, ...]
    once: bool

    def move(self, sight: Sight) -> Move:
        names = ("create_task", "create_task_once")
        if self.once:
            names = names[::-1]
        created = [(title, _created(sight, names, title)) for title in self.titles]
        missing = [title for title, step in created if step is None]
        if missing:
            return _create_first(missing, sight.tool(names[0]) or sight.tool(names[1]))
        told = [self._tell(title, step, sight) for title, step in created if step is not None]
        return Move(reason="Every task has its answer from the tracker.", told="\n".join(told))

    def _tell(self, title: str, step: Step, sight: Sight) -> str:
        if step.failed:
            return f'I do not know that the task "{title}" was created. I was told: {step.words}'
        return sight.pick(f'I created the task "{title}".', f'The task "{title}" is created.')


@dataclass(frozen=True)
class ListTasks:
    def move(self, sight: Sight) -> Move:
        listed, tool = sight.claim("list_tasks"), sight.tool("list_tasks")
        if listed is not None and listed.failed:
            return Move(reason="The list did not come.", told=f"I was told: {listed.words}")
        if listed is not None:
            titles = re.findall(r'"title":\s*"((?:[^"\\]|\\.)*)"', listed.result or "")
            told = "The tasks are:\n" + "\n".join(f"- {title}" for title in titles)
            return Move(reason="I have the list.", told=told if titles else "There are no tasks.")
        if tool is None:
            return Move(reason="No tool that I am offered lists tasks.", told=NO_TRACKER)
        return Move(reason="I ask the tracker for its list.", calls=(Call(tool, {}),))


@dataclass(frozen=True)
class OneArgument:
    """A tool that takes one thing: `delete_task` its task, `slow_task` its seconds."""

    own_name: str
    value: str

    def move(self, sight: Sight) -> Move:
        tool = sight.tool(self.own_name)
        if tool is None:
            return Move(reason=f"I am offered no {self.own_name}.", told=NO_TRACKER)
        arguments = self._arguments(sight.transcript.tools[tool])
        done = sight.claim(self.own_name, lambda given: given == arguments)
        if done is None:
            return Move(reason=f"That is what {tool} is for.", calls=(Call(tool, arguments),))
        return Move(reason="The tool has answered.", told=f"{tool} says: {done.words}")

    def _arguments(self, properties: dict[str, Any]) -> dict[str, Any]:
        name = next(iter(properties), "id")
        schema = properties.get(name)
        kind = schema.get("type") if isinstance(schema, dict) else None
        if self.value.isdecimal() and kind in ("integer", "number"):
            return {name: int(self.value)}
        return {name: self.value}


def _create_first(titles: list[str], tool: str | None) -> Move:
    if tool is None:
        return Move(reason="No tool that I am offered creates tasks.", told=NO_TRACKER)
    return Move(
        reason=f"{_quoted(titles)} is not created yet, as far as this conversation shows.",
        calls=tuple(Call(tool, {"title": title}) for title in titles),
    )


def _created(sight: Sight, names: tuple[str, str], title: str) -> Step | None:
    def is_for_title(arguments: dict[str, Any]) -> bool:
        return arguments.get("title") == title

    return sight.claim(names[0], is_for_title) or sight.claim(names[1], is_for_title)


def _quoted(titles: list[str]) -> str:
    return " and ".join(f'"{title}"' for title in titles)


def _create(found: Found) -> Goal | None:
    titles = found.quoted or _plain_titles(found)
    once = re.search(r"\b(?:once|idempoten\w+|create_task_once)\b", found.text, re.IGNORECASE)
    return CreateTasks(titles=tuple(titles), once=once is not None) if titles else None


def _plain_titles(found: Found) -> list[str]:
    """`a task to water the plants`, `two tasks: shop, cook and eat`."""
    text = (found.group("titles") or "").strip()
    text = re.sub(r"^(?:exactly\s+)?once\b|\b(?:exactly\s+)?once$", "", text).strip()
    text = re.sub(r"^(?::|called|named|titled|with\s+the\s+titles?|to|for)\s*:?\s*", "", text)
    if (found.group("many") or "").lower() != "tasks":
        return [text] if text else []
    return [
        title.strip() for title in re.split(r",\s*(?:and\s+)?|\s+and\s+", text) if title.strip()
    ]


def _delete(found: Found) -> Goal:
    return OneArgument("delete_task", (found.quoted or [found.group("which") or ""])[0])


def _slow(found: Found) -> Goal:
    return OneArgument("slow_task", found.group("seconds") or "1")


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        rf"\b(?:run|start|do|make|create)\b{REST}?\bslow\s+task\b(?:\D*?(?P<seconds>\d+)\s*s(?:econds?)?\b)?",
        _slow,
    ),
    Rule(r"\bwait\s+(?:for\s+)?(?P<seconds>\d+)\s*s(?:econds?)?\b", _slow),
    Rule(
        rf"\b(?:delete|remove)\b{REST}?\btask\b\s*(?:number\s+|#)?(?P<which>[^\s.;!?\x00]+){REST}",
        _delete,
    ),
    Rule(
        rf"\b(?:list|show|read|what(?:\s+are)?|which)\b{REST}?\btasks\b{REST}",
        lambda _: ListTasks(),
    ),
    Rule(
        rf"\b(?:create|add|make|file|open)\b{REST}?\b(?P<many>tasks?)\b(?P<titles>{REST})",
        _create,
    ),
)
