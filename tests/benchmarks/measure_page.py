"""How light the page is: its weight, its start, a long answer, a long conversation.

In a headless Chromium on this machine, in front of a real server with a scripted model. The browser
itself says when: `interactive` is a mark that the page sets when its buttons work, and the longest
task is of the page's own thread, by the clock and by the processor time it took, which a busy
machine does not lengthen. All other times are from the start of the navigation.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from measuring import Figure, main
from playwright.sync_api import Browser, Page, sync_playwright

from lab.bench import Bench
from lab.model.script import say

TOKENS: Final = 20_000
MESSAGES: Final = 500
MUCH: Final = 120_000  # milliseconds; only what hangs takes that long
TRACED: Final = ["toplevel", "devtools.timeline"]


def measure(samples: int) -> Sequence[Figure]:
    system = shutil.which("chromium") or shutil.which("chromium-browser")
    with (
        tempfile.TemporaryDirectory() as folder,
        Bench("page", model="scripted", root=Path(folder)) as bench,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=system, args=["--no-sandbox"]) as browser,
    ):
        configuration = bench.workspace.config / "mcp.json"
        configuration.write_text(json.dumps({"mcpServers": {}}), encoding="utf-8")
        bench.client.wait(bench.client.start("Warm up").run)
        figures = [
            *_start(browser, bench, samples),
            *_long_answer(browser, bench, samples),
            *_long_conversation(browser, bench, samples),
        ]
        bench.model.close()
        return figures


def _opened(browser: Browser, bench: Bench, address: str = "") -> Page:
    """A page that nothing is cached for."""
    page = browser.new_context().new_page()
    page.set_default_timeout(MUCH)
    page.goto(f"{bench.sophos.url}/{address}")
    return page


def _until(page: Page, fact: str) -> float:
    """The page's clock, in milliseconds, at the first frame at which the fact holds."""
    look = f"() => ({fact}) ? resolve(performance.now()) : requestAnimationFrame(look)"
    when: float = page.evaluate(f"new Promise((resolve) => {{ const look = {look}; look(); }})")
    return when


class _Tasks:
    """The longest tasks of the page's thread, in milliseconds, as the browser's own trace has them."""

    def __init__(self) -> None:
        self.clock: list[float] = []
        self.processor: list[float] = []

    def add(self, trace: bytes) -> None:
        events = json.loads(trace)["traceEvents"]
        threads = {
            (event["pid"], event["tid"])
            for event in events
            if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        tasks = [
            event
            for event in events
            if event["name"].endswith("RunTask") and (event["pid"], event["tid"]) in threads
        ]
        self.clock.append(max(task.get("dur", 0) for task in tasks) / 1000)
        self.processor.append(max(task.get("tdur", 0) for task in tasks) / 1000)

    def figures(self, what: str) -> Sequence[Figure]:
        return [
            Figure(what=f"{what}: longest task, by the clock", unit="ms", samples=self.clock),
            Figure(what="the same, processor time", unit="ms", samples=self.processor),
        ]


def _start(browser: Browser, bench: Bench, samples: int) -> Sequence[Figure]:
    interactive: list[float] = []
    weight: list[float] = []
    for _ in range(samples):
        page = _opened(browser, bench)
        mark = "performance.getEntriesByName('interactive')"
        _until(page, f"{mark}.length")
        interactive.append(page.evaluate(f"{mark}[0].startTime"))
        entries = "[...performance.getEntries()].filter((one) => !one.name?.includes('/api/'))"
        weight.append(
            page.evaluate(f"{entries}.reduce((sum, one) => sum + (one.encodedBodySize ?? 0), 0)")
        )
        page.context.close()
    return [
        Figure(what="the page, without the record", unit="bytes", samples=weight),
        Figure(what="navigation → interactive", unit="ms", samples=interactive),
    ]


def _long_answer(browser: Browser, bench: Bench, samples: int) -> Sequence[Figure]:
    tasks = _Tasks()
    for _ in range(samples):
        bench.model.script([say(" ".join(f"w{n}" for n in range(TOKENS)))])
        page = _opened(browser, bench)
        browser.start_tracing(page=page, categories=TRACED)
        page.get_by_label("Message", exact=True).fill("Much")
        page.get_by_label("Message", exact=True).press("Enter")
        kept = f"document.querySelector('#record').textContent.includes('w{TOKENS - 1}')"
        _until(page, f"document.querySelector('#live').hidden && {kept}")
        tasks.add(browser.stop_tracing())
        page.context.close()
    return tasks.figures(f"{TOKENS:,} tokens, then their record")


def _long_conversation(browser: Browser, bench: Bench, samples: int) -> Sequence[Figure]:
    conversation = None
    turns = MESSAGES // 2
    bench.model.script([say("An answer of **some** length, with a `word` of code.")] * turns)
    for _ in range(turns):
        started = bench.client.start("A question of some length?", conversation)
        conversation = started.conversation
        bench.client.wait(started.run)
    shown: list[float] = []
    traced: list[float] = []
    for _ in range(samples):
        page = _opened(browser, bench, f"#{conversation}")
        articles = "document.querySelectorAll('#record article').length"
        shown.append(_until(page, f"{articles} === {MESSAGES}"))
        traced.append(_until(page, "document.querySelector('#trace .step') !== null"))
        page.context.close()
    tasks = _Tasks()
    for _ in range(samples):
        page = _opened(browser, bench)
        browser.start_tracing(page=page, categories=TRACED)
        page.evaluate(f"location.hash = '{conversation}'")
        _until(page, "document.querySelector('#trace .step') !== null")
        tasks.add(browser.stop_tracing())
        page.context.close()
    return [
        Figure(what=f"navigation → {MESSAGES} messages are shown", unit="ms", samples=shown),
        Figure(what="navigation → their trace is shown", unit="ms", samples=traced),
        *tasks.figures(f"{MESSAGES} messages"),
    ]


if __name__ == "__main__":
    main(measure, __doc__ or "")
