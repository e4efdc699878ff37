"""Inside a hub: Sophos behind JupyterLab's own proxy, at a learner's address. All of it is real."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest
from test_web_sign_in import TOKEN

from lab.bench import Bench
from lab.children import Nursery
from lab.model.script import say
from lab.sse import Parser, ServerSentEvent

ROOT: Final = Path(__file__).parents[2]
LEARNER: Final = "/user/ada/"
STREAM: Final = {"Accept": "text/event-stream"}
GIVE_UP: Final = 40.0  # seconds without a byte; only what is held back takes that long


@dataclass(frozen=True, kw_only=True)
class Hub:
    """A learner's browser, signed in to JupyterLab; `sophos` is where it finds the page."""

    http: httpx.Client
    bench: Bench
    origin: str
    sophos: str

    def sign_in(self) -> httpx.Response:
        data, headers = {"token": TOKEN}, {"Origin": self.origin}
        return self.http.post(f"{self.sophos}sign-in", data=data, headers=headers)

    def start(self) -> dict[str, str]:
        headers = {"Origin": self.origin}
        body = {"message": "Count"}
        answer = self.http.post(f"{self.sophos}api/chat", json=body, headers=headers)
        assert answer.status_code == 202, answer.text
        started: dict[str, str] = answer.json()
        return started


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("hub")
    home = folder / "jupyter"
    (home / "config").mkdir(parents=True)
    address = json.dumps({"ServerApp": {"base_url": LEARNER}})
    (home / "config" / "jupyter_server_config.json").write_text(address, encoding="utf-8")
    with (
        Bench("hub", model="scripted", root=folder, tools=(), token=TOKEN) as bench,
        httpx.Client(trust_env=False, timeout=GIVE_UP) as http,
    ):
        jupyter = Nursery(root=ROOT, place=bench.workspace, environ=os.environ).jupyter(home)
        jupyter.launch()
        try:
            bench.up()
            jupyter.wait_ready()
            token = jupyter.ready["url"].rpartition("token=")[2]
            origin = f"http://127.0.0.1:{jupyter.ready['port']}"
            assert http.get(f"{origin}{LEARNER}lab?token={token}").status_code == 200
            port = bench.sophos.url.rpartition(":")[2]
            place = f"{origin}{LEARNER}proxy/{port}/"
            yield Hub(http=http, bench=bench, origin=origin, sophos=place)
            bench.model.close()
        finally:
            jupyter.end()


def events(answer: httpx.Response) -> Iterator[ServerSentEvent]:
    parser = Parser()
    for piece in answer.iter_bytes():
        yield from parser.feed(piece)


def test_a_learner_signs_in_below_the_hubs_address(hub: Hub) -> None:
    hub.http.post(f"{hub.sophos}sign-out")
    assert hub.http.get(f"{hub.sophos}api/conversations").status_code == 401
    answer = hub.sign_in()
    page = hub.http.get(answer.url.join(answer.headers["location"]))
    assert (str(page.url), page.status_code) == (hub.sophos, 200)
    assert hub.http.get(f"{hub.sophos}api/conversations").status_code == 200
    [cookie] = [cookie for cookie in hub.http.cookies.jar if cookie.name == "sophos_session"]
    assert cookie.path == hub.sophos.removeprefix(hub.origin).rstrip("/")


def test_tokens_come_through_the_hub_one_by_one(hub: Hub) -> None:
    hub.sign_in()
    words = ["one", " two", " three"]
    hub.bench.model.script([say("".join(words))])
    hub.bench.model.hold(1)
    started, seen = hub.start(), []
    address = f"{hub.sophos}api/chat"
    with hub.http.stream("GET", address, params=started, headers=STREAM) as answer:
        for event in events(answer):
            if event.name == "token":
                seen.append(json.loads(event.data)["text"])
                # The model says the next word only now: this one was held back by nothing.
                hub.bench.model.hold(len(seen) + 1)
    hub.bench.model.release()
    assert seen == words


def test_a_stream_that_broke_goes_on_through_the_hub(hub: Hub) -> None:
    hub.sign_in()
    hub.bench.model.script([say("one two three")])
    hub.bench.model.hold(2)
    started = hub.start()
    ids: list[str | None] = []
    address = f"{hub.sophos}api/chat"
    with hub.http.stream("GET", address, params=started, headers=STREAM) as answer:
        stream = events(answer)
        while len(ids) < 2:
            ids.append(next(stream).id)
    again = {**STREAM, "Last-Event-ID": str(ids[-1])}
    with hub.http.stream("GET", address, params=started, headers=again) as answer:
        hub.bench.model.release()
        ids += [event.id for event in events(answer) if event.name != "ping"]
    assert ids == [f"{started['run']}:{number}" for number in range(1, len(ids) + 1)]


def test_another_sites_page_can_do_nothing_through_the_hub(hub: Hub) -> None:
    hub.sign_in()
    headers = {"Origin": "http://evil.example"}
    answer = hub.http.post(f"{hub.sophos}api/chat", json={"message": "a"}, headers=headers)
    assert answer.json()["error"]["code"] == "FORBIDDEN_ORIGIN"


def test_the_lessons_figures_are_trusted_and_shown_before_anything_is_run(hub: Hub) -> None:
    lesson = hub.http.get(f"{hub.origin}{LEARNER}api/contents/lessons/00_kill_it.ipynb").json()
    cells = lesson["content"]["cells"]
    trusted = [cell["metadata"]["trusted"] for cell in cells if cell["cell_type"] == "code"]
    assert set(trusted) == {True}
