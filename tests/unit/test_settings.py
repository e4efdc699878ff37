from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophos.errors import StartupError
from sophos.protections import ROWS, Protection
from sophos.settings import Settings, is_loopback


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.read({}) == Settings()
    assert Settings.read({"PORT": ""}).port == 5173


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PORT", "70000"),
        ("PORT", "١٢"),
        ("PORT", "-1"),
        ("OLLAMA_HOST", "ftp://here"),
        ("OLLAMA_HOST", "http://"),
        ("OLLAMA_THINK", "perhaps"),
        ("AGENT_RECURSION_LIMIT", "0"),
        ("SOPHOS_TOOL_TIMEOUT", "nan"),
        ("SOPHOS_TOOL_TIMEOUT", "soon"),
        ("SOPHOS_OWNER_PIPE", "stdout"),
        ("SOPHOS_PROTECT_DRAIN", "maybe"),
    ],
)
def test_an_unusable_value_is_refused_and_named(variable: str, text: str) -> None:
    with pytest.raises(StartupError) as refused:
        Settings.read({variable: text})
    assert variable in refused.value.message


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("0.0.0.0", "http://0.0.0.0:11434"),
        ("model.lan:1234", "http://model.lan:1234"),
        ("[::1]", "http://[::1]:11434"),
        ("http://model.lan/", "http://model.lan"),
        ("https://model.lan/ollama/", "https://model.lan/ollama"),
    ],
)
def test_a_bare_model_host_is_read_as_ollama_reads_it(text: str, url: str) -> None:
    assert Settings.read({"OLLAMA_HOST": text}).ollama_host == url


def test_an_unknown_variable_of_ours_is_refused_and_named() -> None:
    with pytest.raises(StartupError, match="SOPHOS_PROTECT_EVERYTHING"):
        Settings.read({"SOPHOS_PROTECT_EVERYTHING": "off"})
    assert Settings.read({"SOPHOS_LAB_MODEL": "ollama", "PATH": "/bin"}) == Settings()


def test_a_secret_is_never_shown() -> None:
    with pytest.raises(StartupError) as refused:
        Settings.read({"SOPHOS_TOKEN": "hush", "PORT": "x"})
    assert "hush" not in str(refused.value)


def test_an_open_door_needs_a_token() -> None:
    with pytest.raises(StartupError, match="SOPHOS_TOKEN"):
        Settings.read({"HOST": "0.0.0.0"})
    assert Settings.read({"HOST": "0.0.0.0", "SOPHOS_TOKEN": "hush"}).host == "0.0.0.0"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_loopback_is_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.com", "", "127.1"])
def test_anything_else_is_not(host: str) -> None:
    assert not is_loopback(host)


@given(
    st.sampled_from([row.metadata["variable"] for row in fields(Settings) if row.metadata]),
    st.text(),
)
def test_any_value_is_taken_or_refused_with_our_error(variable: str, text: str) -> None:
    try:
        Settings.read({variable: text, "SOPHOS_TOKEN": "x"})
    except StartupError as refused:
        assert "SOPHOS" in refused.message or variable in refused.message  # noqa: PT017


def test_a_protection_is_on_unless_switched_off() -> None:
    protections = Settings.read({"SOPHOS_PROTECT_DRAIN": "off"}).protections
    assert not protections.on(Protection.DRAIN)
    assert all(protections.on(other) for other in Protection if other is not Protection.DRAIN)
    assert set(ROWS) == set(Protection)


def test_a_child_inherits_where_things_are_and_nothing_of_ours() -> None:
    given = {"PATH": "/bin", "LC_ALL": "C", "https_proxy": "http://p", "NODE_EXTRA_CA_CERTS": "/c"}
    ours = {"SOPHOS_TOKEN": "hush", "OLLAMA_MODEL": "m", "AWS_SECRET": "hush", "PYTHONPATH": "/x"}
    settings = Settings.read({**given, **ours})
    assert settings.child_environment == given
    assert "http://p" not in repr(settings)
