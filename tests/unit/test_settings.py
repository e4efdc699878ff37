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
    settings = Settings.read({"SOPHOS_TOKEN": "hush-hush-hush"})
    assert "hush" not in repr(settings)


@pytest.mark.parametrize("text", ["short", "with a space in it", "ümlauts-are-no-ascii", "x" * 201])
def test_a_token_that_is_easily_guessed_or_cannot_be_sent_is_refused(text: str) -> None:
    with pytest.raises(StartupError, match="write 12 to 200 ASCII characters") as refused:
        Settings.read({"SOPHOS_TOKEN": text})
    assert text not in refused.value.message


def test_an_open_door_needs_a_token() -> None:
    with pytest.raises(StartupError, match="SOPHOS_TOKEN"):
        Settings.read({"HOST": "0.0.0.0"})
    assert Settings.read({"HOST": "0.0.0.0", "SOPHOS_TOKEN": "hush-hush-hush"}).host == "0.0.0.0"


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
        Settings.read({"SOPHOS_TOKEN": "hush-hush-hush", variable: text})
    except StartupError as refused:
        assert "SOPHOS" in refused.message or variable in refused.message  # noqa: PT017


def test_a_protection_is_on_unless_switched_off() -> None:
    protections = Settings.read({"SOPHOS_PROTECT_DRAIN": "off"}).protections
    assert not protections.on(Protection.DRAIN)
    assert all(protections.on(other) for other in Protection if other is not Protection.DRAIN)
    assert set(ROWS) == set(Protection)


def test_a_child_inherits_where_things_are_and_nothing_of_ours() -> None:
    given = {"PATH": "/bin", "LC_ALL": "C", "https_proxy": "http://p", "NODE_EXTRA_CA_CERTS": "/c"}
    ours = {
        "SOPHOS_TOKEN": "hush-hush-hush",
        "OLLAMA_MODEL": "m",
        "AWS_SECRET": "hush",
        "PYTHONPATH": "/x",
    }
    settings = Settings.read({**given, **ours})
    assert settings.child_environment == given
    assert "http://p" not in repr(settings)


def test_the_proxies_that_are_trusted_are_addresses_and_networks() -> None:
    settings = Settings.read({"SOPHOS_TRUSTED_PROXIES": "127.0.0.1, 10.1.0.0/16,::1"})
    assert [str(n) for n in settings.trusted_proxies] == ["127.0.0.1/32", "10.1.0.0/16", "::1/128"]


@pytest.mark.parametrize("text", ["nginx", "10.0.0.1/8", "*", "0.0.0.0/0", "::/0", "10.0.0.1:80"])
def test_a_proxy_that_is_nobody_or_everybody_is_refused(text: str) -> None:
    with pytest.raises(StartupError, match="SOPHOS_TRUSTED_PROXIES"):
        Settings.read({"SOPHOS_TRUSTED_PROXIES": text})


@pytest.mark.parametrize(
    ("text", "path"), [("/sophos", "/sophos"), ("/sophos/", "/sophos"), ("/a/b.c", "/a/b.c")]
)
def test_a_root_path_is_read_with_or_without_its_last_slash(text: str, path: str) -> None:
    assert Settings.read({"SOPHOS_ROOT_PATH": text}).root_path == path


@pytest.mark.parametrize("text", ["sophos", "/", "//", "/a//b", "/..", "/a/../b", "/a b", "/a?b"])
def test_what_is_no_root_path_is_refused(text: str) -> None:
    with pytest.raises(StartupError, match="write a path like /sophos"):
        Settings.read({"SOPHOS_ROOT_PATH": text})
