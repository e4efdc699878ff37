"""What runs inside the namespaces of engine.py. Standard library alone; started by it, never imported.

    engine_inside.py machine    in a network of its own: makes the switches, starts the containers
    engine_inside.py container  in a network and a file system of its own: does what it is told

Both read one JSON command per line and answer with one line. Everything ends with the machine.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

WITHIN = 3.0  # seconds for a connection to be made; what has no route answers at once
OURS = {"app", "data"}
held: list[Any] = []  # listeners and processes, for as long as this process lives


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def setting(name: str, value: str) -> None:
    path = Path("/proc/sys/net", *name.split("."))
    if path.exists():
        path.write_text(value, encoding="ascii")


def listen(port: int) -> str:
    """Accept whatever comes, and close it."""
    listener = socket.create_server(("0.0.0.0", port), backlog=128)
    held.append(listener)

    def accept() -> None:
        while True:
            listener.accept()[0].close()

    threading.Thread(target=accept, daemon=True).start()
    return "listening"


def connect(host: str, port: int) -> str:
    """`open`, or the error's name."""
    try:
        socket.create_connection((host, port), timeout=WITHIN).close()
    except TimeoutError:
        return "ETIMEDOUT"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    return "open"


def connect_all(targets: list[tuple[str, int]]) -> list[str]:
    answers = [""] * len(targets)

    def one(index: int, host: str, port: int) -> None:
        answers[index] = connect(host, port)

    threads = [
        threading.Thread(target=one, args=(index, *target)) for index, target in enumerate(targets)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def enter(root: str, volumes: Mapping[str, str], hosts: str) -> str:
    """Put the image's /app, which cannot be written then, and the volumes where they belong.

    Everything else is this machine's, /tmp and Python included. Containers of one image share the
    folder, and each has mounts of its own in it.
    """
    new = Path(root, "entered")
    new.mkdir(exist_ok=True)
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "tmpfs", "none", str(new))
    for entry in Path("/").iterdir():
        if entry.is_symlink():
            (new / entry.name).symlink_to(entry.readlink())
        elif entry.is_dir():
            (new / entry.name).mkdir()
            if entry.name not in OURS:
                run("mount", "--rbind", str(entry), str(new / entry.name))
    for name in OURS:
        (new / name).mkdir(exist_ok=True)
    run("mount", "--bind", f"{root}/app", str(new / "app"))
    run("mount", "-o", "remount,bind,ro", str(new / "app"))
    for target, source in volumes.items():
        run("mount", "--bind", source, f"{new}{target}")
    run("mount", "--bind", hosts, str(new / "etc/hosts"))
    os.chroot(new)
    os.chdir("/app")
    return "entered"


def start(command: list[str], environ: dict[str, str], log: str) -> str:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    held.append(
        subprocess.Popen(
            command, env=environ, stdin=subprocess.DEVNULL, stdout=descriptor, stderr=descriptor
        )
    )
    return "started"


def ask(command: list[str], environ: dict[str, str]) -> list[Any]:
    done = subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return [done.returncode, done.stdout, done.stderr[-2000:]]


def stop() -> list[int]:
    """End what was started, as an engine does; the exit codes."""
    started = [thing for thing in held if isinstance(thing, subprocess.Popen)]
    for process in started:
        process.terminate()
    return [process.wait(timeout=60) for process in started]


def container() -> str:
    """A child in a network and a mount namespace of its own; its pid is its name."""
    child = subprocess.Popen(
        ["unshare", "--net", "--mount", sys.executable, "-IS", __file__, "container"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    name = str(child.pid)
    children[name] = child
    # It has its network once it answers: a cable that is laid before stays on the machine.
    inside(name, ["run", "true"])
    return name


def inside(name: str, command: list[Any]) -> Any:
    """Have a container do something."""
    child = children[name]
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps(command) + "\n")
    child.stdin.flush()
    answer = json.loads(child.stdout.readline())
    if "error" in answer:
        raise OSError(answer["error"])
    return answer["answer"]


children: dict[str, subprocess.Popen[str]] = {}
COMMANDS: dict[str, Callable[..., Any]] = {
    "run": run,
    "setting": setting,
    "listen": listen,
    "connect_all": connect_all,
    "enter": enter,
    "start": start,
    "ask": ask,
    "stop": stop,
    "container": container,
    "inside": inside,
}


def main() -> None:
    run("ip", "link", "set", "lo", "up")
    setting("ipv6.conf.all.disable_ipv6", "1")
    setting("ipv6.conf.default.disable_ipv6", "1")
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            answer = {"answer": COMMANDS[name](*arguments)}
        except (OSError, subprocess.TimeoutExpired) as error:
            answer = {"error": str(error)}
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
