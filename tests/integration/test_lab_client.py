"""The lab's client against bytes on a real connection."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from itertools import islice, takewhile

import pytest

from lab.client import ApiError, Client
from lab.stream import StreamEvent, text

Wire = Callable[..., Client]
RUN = "11111111-1111-4111-8111-111111111111"
CONVERSATION = "22222222-2222-4222-8222-222222222222"


class Server:
    """Answers each connection with the next bytes it was given, and keeps what was asked."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.asked: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as reader:
                head = "".join(takewhile(lambda line: line.strip(), map(bytes.decode, reader)))
                length = int(head.lower().partition("content-length: ")[2].split("\r")[0] or 0)
                self.asked.append(head + reader.read(length).decode())
                if head:
                    connection.sendall(self.answers.pop(0))


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def client(server: Server) -> Client:
    return Client(server.url)


def answer(status: str, body: object) -> bytes:
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return head.encode() + b"\r\n\r\n" + content


def frame(n: int, name: str, **data: object) -> bytes:
    return f"id: {RUN}:{n}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()


def token(n: int, piece: str = "x") -> bytes:
    return frame(n, "token", text=piece, kind="answer", step=1, message_id="m")


def end(n: int, status: str = "completed") -> bytes:
    return frame(n, "end", conversation=CONVERSATION, run=RUN, status=status)


def stream_of(*frames: bytes) -> bytes:
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked"
    return head + b"\r\n\r\n" + chunks


def whole(*frames: bytes) -> bytes:
    return stream_of(*frames) + b"0\r\n\r\n"


def numbers(events: Iterator[StreamEvent]) -> list[int]:
    return [int(event.id.rpartition(":")[2]) for event in events if event.id]


def test_start_sends_the_message_and_the_key(server: Server, client: Client) -> None:
    server.answers = [answer("202 Accepted", {"conversation": CONVERSATION, "run": RUN})]
    started = client.start("hello", key="k")
    assert (started.conversation, started.run) == (CONVERSATION, RUN)
    assert server.asked[0].startswith("POST /api/chat ")
    assert "idempotency-key: k" in server.asked[0].lower()
    assert server.asked[0].endswith('{"message":"hello"}')


def test_a_refusal_is_one_exception_with_code_message_and_status(
    server: Server, client: Client
) -> None:
    server.answers = [answer("409 Conflict", {"error": {"code": "RUN_WAITING", "message": "m"}})]
    with pytest.raises(ApiError) as caught:
        client.resume(CONVERSATION)
    assert (caught.value.code, caught.value.message, caught.value.status) == (
        ("RUN_WAITING", "m", 409)
    )


@pytest.mark.parametrize("body", [[], {"error": "no"}, "oops"])
def test_a_refusal_that_is_not_of_sophos_is_named_so(
    server: Server, client: Client, body: object
) -> None:
    server.answers = [answer("502 Bad Gateway", body)]
    with pytest.raises(ApiError, match=r"NOT_SOPHOS \(502\)"):
        client.run(RUN)


def test_a_server_that_is_gone_is_the_same_exception() -> None:
    gone = Client("http://127.0.0.1:9")
    with pytest.raises(ApiError, match="NO_ANSWER: GET /api/healthz"):
        gone.health()


def test_a_stream_ends_with_its_runs_outcome(server: Server, client: Client) -> None:
    server.answers = [whole(token(1), b": comment\n\n", b"event: ping\ndata: {}\n\n", end(2))]
    stream = client.stream(CONVERSATION)
    assert [event.name for event in stream] == ["token", "end"]
    assert (stream.outcome, stream.closed_by) == ("completed", "end")
    assert [event.name for event in client.shown(RUN)] == ["token", "end"]


def test_a_stream_of_a_server_that_dies_stops_without_an_outcome(
    server: Server, client: Client
) -> None:
    server.answers = [stream_of(token(1), token(2), b"id: 3\nevent: tok")]
    stream = client.stream(CONVERSATION)
    assert numbers(iter(stream)) == [1, 2]
    assert (stream.outcome, stream.closed_by) == (None, "lost")


def test_a_dropped_stream_comes_back_after_the_last_event_it_gave(
    server: Server, client: Client
) -> None:
    server.answers = [stream_of(token(1), token(2), token(3)), whole(token(3), end(4))]
    stream = client.stream(CONVERSATION, run=RUN)
    assert numbers(islice(stream, 2)) == [1, 2]
    stream.drop()
    assert (list(stream), stream.closed_by) == ([], "dropped")
    stream.reconnect()
    assert numbers(iter(stream)) == [3, 4]
    assert f"last-event-id: {RUN}:2\r\n" in server.asked[1].lower()
    assert "last-event-id" not in server.asked[0].lower()


def test_a_stream_with_nothing_more_is_empty(server: Server, client: Client) -> None:
    server.answers = [b"HTTP/1.1 204 No Content\r\n\r\n"]
    stream = client.stream(CONVERSATION, last_event_id=f"{RUN}:9")
    assert (list(stream), stream.closed_by) == ([], "nothing more")


def test_an_unknown_conversation_is_refused_before_the_first_event(
    server: Server, client: Client
) -> None:
    server.answers = [answer("404 Not Found", {"error": {"code": "NOT_FOUND", "message": "m"}})]
    with pytest.raises(ApiError, match="NOT_FOUND"):
        client.stream(CONVERSATION)


def test_wait_follows_the_stream_and_then_reads_the_record(server: Server, client: Client) -> None:
    running = {"id": RUN, "conversation": CONVERSATION, "status": "running"}
    server.answers = [
        answer("200 OK", running),
        whole(token(1), end(2)),
        answer("200 OK", running | {"status": "completed"}),
    ]
    assert client.wait(RUN)["status"] == "completed"


def test_conversations_reads_every_page(server: Server, client: Client) -> None:
    server.answers = [
        answer("200 OK", {"conversations": [{"id": "b"}], "next": "cursor"}),
        answer("200 OK", {"conversations": [{"id": "a"}], "next": None}),
    ]
    assert [row["id"] for row in client.conversations()] == ["b", "a"]
    assert "before=cursor" in server.asked[1]


def test_readiness_is_read_also_when_it_is_a_no(server: Server, client: Client) -> None:
    server.answers = [answer("503 Unavailable", {"status": "unavailable", "checks": {}})]
    assert client.ready()["status"] == "unavailable"


def test_a_client_asks_where_the_server_is_before_each_request(server: Server) -> None:
    places = [server.url, "http://127.0.0.1:9"]
    server.answers = [answer("200 OK", {"status": "ok"})]
    client = Client(lambda: places.pop(0))
    assert client.health()["status"] == "ok"
    with pytest.raises(ApiError, match="NO_ANSWER"):
        client.health()


def told(step: int, piece: str, kind: str = "answer", message: str = "m1") -> StreamEvent:
    data = {"text": piece, "kind": kind, "step": step, "message_id": message}
    return StreamEvent(name="token", data=data, id=None)


def resume(step: int) -> StreamEvent:
    return StreamEvent(name="trace", data={"event": "resume", "step": step}, id=None)


def test_text_folds_the_tokens_of_each_message_and_keeps_reasoning_apart() -> None:
    events = [told(1, "Hm", "reasoning"), told(1, "One"), told(1, " two"), told(3, "Three")]
    events += [told(3, "four", message="m2")]
    folded = text(events)
    assert (folded.answer, folded.reasoning) == ("One twoThree\n\nfour", "Hm")


def test_text_forgets_what_a_resume_has_superseded() -> None:
    events = [told(1, "kept"), told(3, "half", message="m2"), resume(3)]
    assert text([*events, told(3, "whole", message="m3")]).answer == "kept\n\nwhole"


def test_what_comes_back_after_a_reconnect_counts_as_shown_once(
    server: Server, client: Client
) -> None:
    server.answers = [stream_of(token(1, "a"), token(2, "b")), whole(token(1), token(2), end(3))]
    assert len(list(client.stream(CONVERSATION))) == 2
    assert len(list(client.stream(CONVERSATION))) == 3
    assert numbers(iter(client.shown(RUN))) == [1, 2, 3]
    assert client.text(RUN).answer == "ab"


def test_waiting_is_bounded_however_often_the_stream_is_closed(
    server: Server, client: Client
) -> None:
    running = answer("200 OK", {"id": RUN, "conversation": CONVERSATION, "status": "running"})
    server.answers = [running, whole(token(1))] * 10_000
    with pytest.raises(ApiError, match="NO_ANSWER"):
        client.wait(RUN, seconds=0.1)
