"""The event stream parser follows the HTML standard, however the bytes are cut."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lab.sse import Parser, ServerSentEvent

LINES = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def parsed(*chunks: bytes) -> list[ServerSentEvent]:
    parser = Parser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


def event(name: str, data: str, own_id: str | None = None) -> ServerSentEvent:
    return ServerSentEvent(name=name, data=data, id=own_id)


def test_an_event_has_a_name_data_and_an_id() -> None:
    assert parsed(b'id: r:1\nevent: token\ndata: {"a": 1}\n\n') == [
        event("token", '{"a": 1}', "r:1")
    ]


def test_an_event_without_a_name_is_a_message() -> None:
    assert parsed(b"data: a\n\n") == [event("message", "a")]


def test_data_lines_are_joined_and_only_one_space_is_taken_off() -> None:
    assert parsed(b"data:  a\ndata:b\ndata\n\n") == [event("message", " a\nb\n")]


def test_cr_lf_and_crlf_each_end_a_line() -> None:
    assert parsed(b"data: a\r\rdata: b\r\n\r\ndata: c\n\n") == [
        event("message", "a"),
        event("message", "b"),
        event("message", "c"),
    ]


def test_other_line_separators_of_unicode_are_text() -> None:
    text = "a\u2028b\u0085c\x0bd\x1ce"
    assert parsed(f"data: {text}\n\n".encode()) == [event("message", text)]


def test_a_byte_order_mark_is_skipped_once_at_the_start() -> None:
    mark = "\ufeff".encode()
    assert parsed(mark + b"data: a\n\n" + mark + b"data: b\n\n") == [event("message", "a")]


def test_comments_and_unknown_fields_are_ignored() -> None:
    assert parsed(b": ping\nfoo: bar\ndata: a\n\n") == [event("message", "a")]


def test_an_event_without_data_is_not_sent_but_its_id_counts() -> None:
    parser = Parser()
    assert list(parser.feed(b"event: token\nid: 7\n\n")) == []
    assert parser.last_id == "7"
    assert list(parser.feed(b"data: a\n\n")) == [event("message", "a")]


def test_an_id_with_a_nul_is_ignored_and_an_empty_one_resets() -> None:
    parser = Parser()
    list(parser.feed(b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n"))
    assert parser.last_id == "1"
    list(parser.feed(b"id\ndata: c\n\n"))
    assert parser.last_id == ""


def test_an_id_counts_only_once_its_event_is_whole() -> None:
    parser = Parser()
    list(parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n"))
    assert parser.last_id == "1"


def test_retry_takes_digits_alone() -> None:
    parser = Parser()
    list(parser.feed("retry: 1500\nretry: 2s\nretry: -1\nretry: ²\n".encode()))
    assert parser.retry == 1500


def test_an_unfinished_event_was_never_sent() -> None:
    assert parsed(b"data: a\n\ndata: b\n") == [event("message", "a")]


def test_a_broken_byte_is_replaced_and_the_stream_goes_on() -> None:
    assert parsed(b"data: \xff\n\ndata: b\n\n") == [
        event("message", "\ufffd"),
        event("message", "b"),
    ]


@given(st.binary(max_size=200), st.lists(st.integers(0, 200)))
def test_any_chunking_of_any_bytes_gives_the_same_events(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assert parsed(*chunks) == parsed(stream)


@given(st.lists(st.tuples(LINES, ENDS)), st.lists(st.integers(0, 400)))
def test_any_chunking_of_any_lines_gives_the_same_events(
    lines: list[tuple[str, str]], cuts: list[int]
) -> None:
    stream = "".join("data: " + line + end + end for line, end in lines).encode()
    edges = [0, *sorted(cuts), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assert parsed(*chunks) == parsed(stream) == [event("message", line) for line, _ in lines]
