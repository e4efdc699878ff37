"""driver.py wait | ask MESSAGE | status URL…: a client on the machine, for test_stack.py."""

import json
import os
import sys

import httpx

from lab.client import ApiError, Client
from lab.facts import until

URL = "http://127.0.0.1:5173"
PATIENCE = 100  # seconds for the containers to be there
client = Client(URL, token=os.environ["TOKEN"])


def wait() -> None:
    until(_answers, what="an answer of the published port", seconds=PATIENCE)


def _answers() -> bool:
    try:
        client.conversations()
    except ApiError:
        return False
    return True


def ask(message: str) -> dict[str, str]:
    started = client.start(message)
    run = client.wait(started.run)
    messages = client.read(started.conversation)["messages"]
    return {"status": run["status"], "text": messages[-1]["content"]}


def tell(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")


match sys.argv[1:]:
    case ["wait"]:
        wait()
    case ["ask", text]:
        tell(ask(text))
    case ["status", *urls]:
        for url in urls:
            tell(httpx.get(url, trust_env=False).status_code)
