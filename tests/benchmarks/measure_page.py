"""How light the page is: its weight, its start, a long answer, a long conversation.

In a headless Chromium on this machine, in front of a real server with a scripted model. The browser
itself says when: `interactive` is a mark that the page sets when its buttons work, and a long task
is one that holds the page up for more than 50 ms. All times are from the start of the navigation.
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
OBSERVE: Final = (
    "window.tasks = [0]; new PerformanceObserver((list) => tasks.push(...list.getEntries()"
    ".map(({ duration }) => duration))).observe({ type: 'longtask', buffered: true })"
)


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
    page.add_init_script(OBSERVE)
    page.goto(f"{bench.sophos.url}/{address}")
    return page


def _until(page: Page, fact: str) -> float:
    """The page's clock, in milliseconds, at the first frame at which the fact holds."""
    look = f"() => ({fact}) ? resolve(performance.now()) : requestAnimationFrame(look)"
    when: float = page.evaluate(f"new Promise((resolve) => {{ const look = {look}; look(); }})")
    return when


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
    longest: list[float] = []
    number: list[float] = []
    for _ in range(samples):
        bench.model.script([say(" ".join(f"w{n}" for n in range(TOKENS)))])
        page = _opened(browser, bench)
        page.get_by_label("Message", exact=True).fill("Much")
        page.get_by_label("Message", exact=True).press("Enter")
        kept = f"document.querySelector('#record').textContent.includes('w{TOKENS - 1}')"
        _until(page, f"document.querySelector('#live').hidden && {kept}")
        tasks = page.evaluate("tasks")
        longest.append(max(tasks))
        number.append(len(tasks) - 1)
        page.context.close()
    return [
        Figure(
            what=f"{TOKENS:,} tokens and their record: longest task", unit="ms", samples=longest
        ),
        Figure(what="the same: tasks over 50 ms", unit="", samples=number),
    ]


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
    longest: list[float] = []
    for _ in range(samples):
        page = _opened(browser, bench, f"#{conversation}")
        articles = "document.querySelectorAll('#record article').length"
        shown.append(_until(page, f"{articles} === {MESSAGES}"))
        traced.append(_until(page, "document.querySelector('#trace .step') !== null"))
        longest.append(max(page.evaluate("tasks")))
        page.context.close()
    return [
        Figure(what=f"navigation → {MESSAGES} messages are shown", unit="ms", samples=shown),
        Figure(what="the same → their trace is shown", unit="ms", samples=traced),
        Figure(what="the same: longest task", unit="ms", samples=longest),
    ]


if __name__ == "__main__":
    main(measure, __doc__ or "")
