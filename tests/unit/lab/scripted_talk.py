"""A conversation with the scripted model, with tools that answer from a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lab.model.reply import Call, Reply, Say, Think
from lab.model.understanding import understand

TOOLS = {
    "fetch__fetch": {"url": {"type": "string"}},
    "memory__add_observations": {"observations": {"type": "array"}},
    "memory__create_entities": {"entities": {"type": "array"}},
    "memory__delete_entities": {"entityNames": {"type": "array"}},
    "memory__read_graph": {},
    "memory__search_nodes": {"query": {"type": "string"}},
    "tasks__create_task": {"title": {"type": "string"}},
    "tasks__create_task_once": {"title": {"type": "string"}},
    "tasks__delete_task": {"task_id": {"type": "integer"}},
    "tasks__list_tasks": {},
    "tasks__slow_task": {"seconds": {"type": "number"}},
}
PAGE = "A page\n\nIt says one thing. It says another thing."
SENTENCE = "It says one thing."
NOT_FOUND = "Entity with name example.com not found"

Answer = str | Callable[[dict[str, Any]], str]


def described(names: list[str]) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": name, "parameters": {"properties": TOOLS[name]}}}
        for name in names
    ]


@dataclass
class Talk:
    """`answers` says what each tool gives; one that is not named gives its arguments as JSON."""

    answers: dict[str, Answer] = field(default_factory=dict)
    tools: list[str] = field(default_factory=lambda: list(TOOLS))
    sample: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def ask(self, text: str, *, most_steps: int = 12) -> str:
        """The final answer, with the calls on the way put into `calls`."""
        self.messages.append({"role": "user", "content": text})
        self.calls.clear()
        for _ in range(most_steps):
            made = self.step()
            if not made:
                return str(self.messages[-1]["content"])
            for call in made:
                self.messages.append({"role": "tool", "content": self._result(call)})
        raise AssertionError(f"No answer within {most_steps} steps: {self.calls}")

    def step(self) -> list[Call]:
        reply = self.reply()
        made = [part for part in reply.parts if isinstance(part, Call)]
        self.calls += [(call.name, call.arguments) for call in made]
        said = "".join(part.text for part in reply.parts if isinstance(part, Say))
        functions = [{"function": {"name": c.name, "arguments": c.arguments}} for c in made]
        message = {"role": "assistant", "content": said}
        self.messages.append(message | ({"tool_calls": functions} if functions else {}))
        return made

    def reply(self) -> Reply:
        reply = understand(self.messages, described(self.tools), sample=self.sample)
        assert isinstance(reply.parts[0], Think), "every reply thinks first"
        return reply

    def _result(self, call: Call) -> str:
        own_name = call.name.rpartition("__")[2]
        if own_name == "fetch" and "fetch" not in self.answers:
            return f"Contents of {call.arguments['url']}:\n{PAGE}"
        answer = self.answers.get(own_name, json.dumps(call.arguments))
        return answer if isinstance(answer, str) else answer(call.arguments)

    @property
    def called(self) -> list[str]:
        return [name for name, _ in self.calls]
