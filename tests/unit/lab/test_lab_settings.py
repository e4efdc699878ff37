"""A setting's name in a lesson becomes the variable that Sophos reads."""

from dataclasses import fields
from pathlib import Path

import pytest

from lab.settings import clean, variables
from sophos.protections import Protection
from sophos.settings import Settings

VARIABLES = {row.name: row.metadata["variable"] for row in fields(Settings) if row.metadata}


@pytest.mark.parametrize("name", VARIABLES)
def test_every_setting_of_sophos_can_be_given_by_its_name(name: str) -> None:
    assert list(variables({name: "x"})) == [VARIABLES[name]]


def test_values_are_written_as_sophos_reads_them() -> None:
    given = {"ollama_think": False, "tool_timeout": 5, "allowed_hosts": {"b", "a"}, "port": 0}
    settings = Settings.read(variables(given | {"database_path": Path("x.db")}))
    assert (settings.ollama_think, settings.tool_timeout, settings.port) == (False, 5.0, 0)
    assert settings.allowed_hosts == {"a", "b"}
    assert settings.database_path == Path("x.db")


def test_none_is_a_setting_that_is_not_set() -> None:
    assert variables({"token": None}) == {}


def test_protections_are_switched_by_name() -> None:
    given = variables({"protect": {"DRAIN": False, "RECONCILE": True}})
    assert given == {"SOPHOS_PROTECT_DRAIN": "off", "SOPHOS_PROTECT_RECONCILE": "on"}
    assert Settings.read(given).protections.off == {Protection.DRAIN}


def test_an_unknown_protection_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no protection BRAKES\. There are .*DRAIN"):
        variables({"protect": {"BRAKES": False}})


def test_the_owner_s_own_settings_and_tracing_do_not_reach_a_lesson() -> None:
    theirs = {"DATABASE_PATH": "mine.db", "SOPHOS_TOKEN": "s", "LANGSMITH_TRACING": "true"}
    kept = clean(theirs | {"PATH": "/bin", "OLLAMA_HOST": "far"})
    assert set(kept) == {"PATH", "NO_PROXY", "no_proxy"}


def test_a_proxy_is_not_asked_for_this_machine() -> None:
    kept = clean({"HTTP_PROXY": "http://proxy", "NO_PROXY": "intra"})
    assert kept["NO_PROXY"] == "intra,127.0.0.1,localhost"
    assert kept["HTTP_PROXY"] == "http://proxy"
