"""Variables that LangChain reads by itself are taken away before it can."""

from sophos.tracing import withhold


def test_every_variable_of_a_tracing_service_is_taken_out_and_nothing_else() -> None:
    environ = {
        "LANGSMITH_TRACING": "true",
        "LANGCHAIN_ENDPOINT": "https://x.example",
        "PATH": "/bin",
    }
    assert withhold(environ)
    assert environ == {"PATH": "/bin"}


def test_tracing_counts_as_asked_for_when_a_switch_is_on() -> None:
    assert withhold({"LANGCHAIN_TRACING_V2": "TRUE"})
    assert not withhold({"LANGSMITH_TRACING": "false", "LANGSMITH_PROJECT": "mine"})
    assert not withhold({})
