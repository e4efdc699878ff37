"""compose.yaml: what an engine would accept, and what it would then build. No engine is asked."""

from __future__ import annotations

import importlib.resources
import json
import re
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
from composed import ValueMissing, read_compose
from images import ROOT, left_out, read_stages

from lab.installer import UV
from lab.topology import OUTSIDE, Topology, read_topology
from sophos.settings import Settings
from sophos.tools.servers import Remote, read_servers, variables
from sophos.web.server import CONNECTION_GRACE

SCHEMA: Final = "builtin_schemas/vendor/compose-spec.json"
VALUES: Final = {"SOPHOS_TOKEN": "a-long-random-text"}
DOOR: Final = {"door": "127.0.0.1:${SOPHOS_PORT:-5173}:5173"}
LAB_DOOR: Final = {"lab-door": "127.0.0.1:${LAB_PORT:-8888}:8888"}
COMPOSE: Final = read_compose()
SERVICES: Final[dict[str, Any]] = COMPOSE["services"]


@pytest.fixture(scope="module")
def topology() -> Topology:
    return read_topology()


def faults(document: Any) -> list[str]:
    text = importlib.resources.files("check_jsonschema").joinpath(SCHEMA).read_text("utf-8")
    validator = jsonschema.validators.validator_for(json.loads(text))(json.loads(text))
    return [error.message for error in validator.iter_errors(document)]


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def test_the_file_is_what_the_compose_specification_allows() -> None:
    assert faults(COMPOSE) == []
    assert faults(read_compose(VALUES)) == []


def test_a_word_that_the_specification_does_not_have_is_found() -> None:
    document = read_compose()
    document["services"]["sophos"]["read_onyl"] = True
    assert faults(document)


def test_without_a_token_the_file_is_refused_and_says_what_to_do() -> None:
    with pytest.raises(ValueMissing, match=r"SOPHOS_TOKEN=.* into the file \.env"):
        read_compose({})


def test_only_the_doors_publish_a_port_and_only_on_this_machine() -> None:
    published = {name: port for name, entry in SERVICES.items() for port in entry.get("ports", [])}
    assert published == DOOR | LAB_DOOR
    assert not any("network_mode" in entry or "privileged" in entry for entry in SERVICES.values())


def test_a_port_is_published_by_a_container_that_an_engine_can_publish_from(
    topology: Topology,
) -> None:
    # An engine publishes nothing from a container that stands in internal networks alone.
    for service in topology.members.values():
        assert not service.published or topology.leads_out(service.name)


def test_who_has_a_way_out_and_who_has_none(topology: Topology) -> None:
    ways_out = {name for name in topology.members if topology.leads_out(name)}
    assert ways_out == {"mcp-fetch", "model", "door", "lab-door"}
    relays = {name: service.relays_to for name, service in topology.members.items()}
    assert {name: to for name, to in relays.items() if to} == {
        "door": "sophos:5173",
        "lab-door": "lab:8888",
        "model": "${MODEL_SERVER:-host.docker.internal:11434}",
    }
    assert ways_out - {name for name, to in relays.items() if to} == {"mcp-fetch"}


def test_a_network_with_a_way_out_has_one_container_and_the_machine_is_in_no_other(
    topology: Topology,
) -> None:
    for net in topology.nets.values():
        members = [s.name for s in topology.members.values() if net.name in s.networks]
        assert net.isolated if net.internal else len(members) == 1


def test_who_may_speak_with_whom(topology: Topology) -> None:
    frame = topology.reachable()
    open_pairs = frame[frame["route"] & (frame["to"] != OUTSIDE) & (frame["from"] != "browser")]
    either_way = {
        frozenset(pair) for pair in zip(open_pairs["from"], open_pairs["to"], strict=True)
    }
    assert either_way == {
        frozenset(pair)
        for pair in (
            *(("door", "sophos"), ("sophos", "mcp-memory"), ("sophos", "mcp-fetch")),
            *(("sophos", "model"), ("lab-door", "lab"), ("inspector", "sophos")),
            *(("inspector", "mcp-memory"), ("inspector", "mcp-fetch")),
        )
    }


def test_a_path_that_only_a_program_keeps_is_told_from_one_that_is_not_there(
    topology: Topology,
) -> None:
    def kept_by(source: str, target: str) -> str:
        return str(topology.reachable(source, target)["kept_by"].item())

    assert kept_by("sophos", OUTSIDE) == kept_by("mcp-memory", "mcp-fetch") == "no route"
    assert kept_by("door", "model") == "engine's rules"
    assert kept_by("model", OUTSIDE) == kept_by("mcp-fetch", "sophos") == "configured"
    assert kept_by("sophos", "mcp-memory") == ""


def test_a_name_that_is_not_there_is_told_with_those_that_are(topology: Topology) -> None:
    with pytest.raises(ValueError, match=r"no redis in this topology.*mcp-memory"):
        topology.reachable("redis")


@pytest.mark.parametrize("name", SERVICES)
def test_each_container_is_contained(name: str) -> None:
    entry = SERVICES[name]
    assert read_topology().members[name].contained
    assert entry["init"] is True
    assert entry["sysctls"] == {"net.ipv4.ip_forward": "0"}
    assert entry["restart"] == ("no" if name == "inspector" else "unless-stopped")
    assert name == "inspector" or entry["healthcheck"]["retries"] == 3
    assert {"pids_limit", "mem_limit", "stop_grace_period", "tmpfs", "logging"} <= entry.keys()


@pytest.mark.parametrize("name", SERVICES)
def test_each_image_is_a_stage_that_ends_as_the_container_s_user(name: str) -> None:
    build = SERVICES[name]["build"]
    assert (ROOT / build["dockerfile"]).is_file()
    stage = read_stages()[build["target"]]
    assert stage.last("USER") == SERVICES[name]["user"] == "10001:10001"


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_container_writes_to_is_a_volume_its_user_owns(name: str) -> None:
    stage = read_stages()[SERVICES[name]["build"]["target"]]
    owned = {
        *(text.split()[-1] for text in stage.all("RUN") if text.startswith("install -d -o 10001")),
        *("/app/" + t.split()[-1] for t in stage.all("COPY") if t.startswith("--chown=10001")),
    }
    for volume in SERVICES[name].get("volumes", []):
        source, target = volume.split(":")
        assert source in COMPOSE["volumes"]
        assert target in owned


def test_sophos_is_given_what_it_can_use_and_stops_within_its_grace() -> None:
    settings = Settings.read(read_compose(VALUES)["services"]["sophos"]["environment"])
    assert settings.token == VALUES["SOPHOS_TOKEN"]
    assert settings.database_path.is_relative_to("/data")
    assert settings.memory_file_path.is_relative_to("/data")
    assert settings.ollama_host == "http://model:11434"
    grace = seconds(SERVICES["sophos"]["stop_grace_period"])
    assert grace > settings.shutdown_grace + CONNECTION_GRACE + 10


def test_the_tool_servers_are_containers_that_sophos_shares_a_network_with(
    topology: Topology,
) -> None:
    file = ROOT / COMPOSE["configs"]["tools"]["file"]
    for server in read_servers(file, variables(file.parent, Path("unused"))).values():
        assert isinstance(server.address, Remote)
        found = re.fullmatch(r"http://([\w-]+):8080/mcp", server.address.url)
        assert found
        assert topology.common("sophos", found[1]) == [server.name]


def test_a_health_check_asks_within_its_own_time_and_never_a_token() -> None:
    for entry in SERVICES.values():
        if check := entry.get("healthcheck"):
            *_, script, url = check["test"]
            assert (script, seconds(check["timeout"])) == ("/app/healthy.py", 5)
            assert url.startswith("http://127.0.0.1:")


def test_nothing_secret_and_nothing_of_this_machine_ends_up_in_an_image() -> None:
    for path in (".env", ".git", "data/db/sophos.db", ".venv", "lab/__pycache__", ".mcp-servers"):
        assert left_out(path)
    for path in ("sophos/__main__.py", "config/mcp.json", "uv.lock", "lessons/README.md"):
        assert not left_out(path)


def test_bases_are_named_exactly_and_the_same_system() -> None:
    stages = read_stages()
    bases = {stage.base for stage in stages.values()} - stages.keys()
    assert all(
        re.fullmatch(r"(python|node):\d+\.\d+\.\d+(-slim)?-bookworm(-slim)?", b) for b in bases
    )
    assert len(bases) == 2


def test_what_is_installed_is_pinned_by_the_locks_of_the_way_in() -> None:
    stages = read_stages()
    assert stages["uv"].all("RUN")[0].split()[-1] == UV
    # The lab's image is set up by the lab's own way in, which made the environment we run in.
    assert stages["lab"].all("RUN")[0] == "python3 -m lab setup"
    for stage in stages.values():
        for text in stage.all("RUN"):
            assert "uv sync" not in text or "--locked" in text
            assert "npm" not in text or text.startswith("npm ci ")


def test_the_inspector_s_lock_is_in_step_with_what_it_is_to_be() -> None:
    folder = ROOT / "config" / "mcp-servers" / "inspector"
    wanted = json.loads((folder / "package.json").read_text("utf-8"))["dependencies"]
    locked = json.loads((folder / "package-lock.json").read_text("utf-8"))["packages"]
    assert locked[""]["dependencies"] == wanted
    for name, version in wanted.items():
        assert locked[f"node_modules/{name}"]["version"] == version
