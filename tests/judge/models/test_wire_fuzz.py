"""HTTP/1.1 as it may come over the wire, read by the package's own connection and by h11.

Both have to come to the same: the answer with the same bytes in its body, or none. Where they do
not, the difference is in `DIFFERENCES` with its reason. Some hundred cases run here.
`RUBRICATE_WIRE_RUNS=20000 pytest tests/judge/models/test_wire_fuzz.py` runs more.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import h11
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rubricate.judge.models._connections import _Connection
from rubricate.judge.models._responses import BrokenOff

RUNS = int(os.environ.get("RUBRICATE_WIRE_RUNS", "150"))
QUICK = settings(
    max_examples=RUNS, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

STRICTER = {
    "version": "no version but 1.0, 1.1 and 2.0 is known to llhttp",
    "fold": "a header over several lines is obsolete (RFC 9112, 5.2), and a way to hide one",
    "length and chunked": "which of both counts is a way to smuggle (RFC 9112, 6.1)",
    "lengths": "a length that is said twice may be said differently",
    "bare LF": "lines end in CR LF (RFC 9112, 2.2: LF alone may be taken)",
    "trailer": "a length may not stand behind the body (RFC 9110, 6.5.1)",
    "extension": "an extension has a name, and no space stands behind a size",
}
"""What is refused here and taken by h11."""
LAXER = {
    "coding": "a transfer coding but chunked is not decoded: the body is then no JSON",
    "chunked twice": "it says the same twice",
}
"""What is taken here and refused by h11."""
DIFFERENCES = STRICTER | LAXER


class Wire(NamedTuple):
    """What comes, and what is odd about it."""

    content: bytes
    odd: frozenset[str] = frozenset()


class Transport(asyncio.Transport):
    """Takes what is written, and notes that the connection was ended."""

    aborted = False

    def write(self, data: Any) -> None:
        pass

    def abort(self) -> None:
        self.aborted = True


class Outcome(NamedTuple):
    """An answer's status and body, or None for both; and if the connection is used again."""

    status: int | None
    body: bytes | None
    is_kept: bool = False


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def here(loop: asyncio.AbstractEventLoop, parts: Sequence[bytes]) -> Outcome:
    """What the connection makes of an answer in these parts, after which the server hangs up."""
    connection, transport = _Connection(loop), Transport()
    connection.connection_made(transport)
    answer = connection.ask(b"", 60.0)
    for part in parts:
        if not transport.aborted:
            connection.data_received(part)
    is_kept = connection.keeps and connection.is_open
    connection.connection_lost(None)
    connection.end()
    assert answer.done()
    error = answer.exception()
    if error is not None:
        assert isinstance(error, BrokenOff if any(parts) else ConnectionResetError)
        return Outcome(None, None)
    return Outcome(answer.result().status, answer.result().body, is_kept)


def h11s(parts: Sequence[bytes]) -> Outcome:
    """What h11 makes of the same."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
    headers = [("Host", "x"), ("Content-Length", "0")]
    connection.send(h11.Request(method="POST", target="/", headers=headers))
    connection.send(h11.EndOfMessage())
    status, body = None, b""
    try:
        for part in (*parts, b""):
            connection.receive_data(part)
            while (event := connection.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Response):
                    status = event.status_code
                elif isinstance(event, h11.Data):
                    body += bytes(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    is_kept = connection.their_state is h11.DONE
                    return Outcome(status, body, is_kept and not connection.trailing_data[0])
                elif isinstance(event, h11.ConnectionClosed):
                    return Outcome(None, None)
    except h11.RemoteProtocolError:
        pass
    return Outcome(None, None)


HEADERS = st.sampled_from(
    [
        *(b"X-A: b", b"X-Empty:", b"X-Spaces:   a b   ", b"X-Latin: \xff\xe9", b"x-ratelimit: 1"),
        *(b"Connection: close", b"Connection: keep-alive", b"Keep-Alive: timeout=5"),
        *(b"X-Long: " + b"a" * 70_000, b"Content-Type: application/json"),
        *(b"NoColon", b"X Y: z", b": no name", b"X-Null: a\0b", b"X-Return: a\rb"),
        *(b"X-Fold: a\r\n b", b"X-Fold: a\r\n\tb"),
    ]
)
INTERIM = st.sampled_from(
    [
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
        b"HTTP/1.1 102 X\r\nContent-Length: 3\r\n\r\n",
    ]
)
SURPLUS = st.sampled_from([b""] * 6 + [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"junk"])
BODIES = st.binary(max_size=300) | st.sampled_from([b"", b'{"a": "b"}', b"0\r\n\r\n", b"HTTP/1.1 "])
FRAMES = [
    *["length"] * 4,
    *["chunked"] * 6,
    *["end"] * 2,
    *["length twice", "length list", "length bad", "length signed", "length huge", "length blank"],
    *["chunked and length", "length and chunked", "chunked twice", "gzip", "gzip chunked"],
    *["identity", "capitals", "other"],
]


def chunks(draw: st.DrawFn, body: bytes, odd: set[str]) -> bytes:
    """A body in chunks, with extensions and trailers."""
    out = b""
    while body:
        size = draw(st.integers(1, len(body)))
        part, body = body[:size], body[size:]
        said = draw(st.sampled_from([b"%x", b"%X", b"00%x"])) % size
        extension = draw(st.sampled_from([b""] * 5 + [b";a=b", b';a="q"', b";a", b";", b" "]))
        odd |= {"extension"} if extension in (b";", b" ") else set()
        out += said + extension + b"\r\n" + part + b"\r\n"
    trailers = draw(
        st.sampled_from([b""] * 3 + [b"X-T: 1\r\n", b"X-T: 1\r\nContent-Length: 5\r\n"])
    )
    odd |= {"trailer"} if b"Length" in trailers else set()
    return out + draw(st.sampled_from([b"0", b"000", b"0;x=y"])) + b"\r\n" + trailers + b"\r\n"


@st.composite
def wires(draw: st.DrawFn) -> Wire:
    """Answers to a POST, most of them right, with a framing, headers and what comes beside."""
    odd: set[str] = set()
    body, frame = draw(BODIES), draw(st.sampled_from(FRAMES))
    length = b"Content-Length: %d" % len(body)
    framing = {
        "length": [length],
        "chunked": [b"Transfer-Encoding: chunked"],
        "end": [],
        "length twice": [length, b"Content-Length: %d" % draw(st.sampled_from([len(body), 7]))],
        "length list": [length + b", %d" % len(body)],
        "length bad": [b"Content-Length: 5x"],
        "length signed": [b"Content-Length: +%d" % len(body)],
        "length huge": [b"Content-Length: 99999999999999999999999"],
        "length blank": [b"Content-Length : %d" % len(body)],
        "chunked and length": [b"Transfer-Encoding: chunked", length],
        "length and chunked": [length, b"Transfer-Encoding: chunked"],
        "chunked twice": [b"Transfer-Encoding: chunked"] * 2,
        "gzip": [b"Transfer-Encoding: gzip"],
        "gzip chunked": [b"Transfer-Encoding: gzip, chunked"],
        "identity": [b"Transfer-Encoding: identity"],
        "capitals": [b"TRANSFER-ENCODING: CHUNKED"],
        "other": [b"Transfer-Encoding: xchunked"],
    }[frame]
    if "and" in frame:
        odd.add("length and chunked")
    elif frame in ("length twice", "length list"):
        odd.add("lengths")
    elif frame in ("gzip", "gzip chunked", "identity", "other"):
        odd.add("coding")
    elif frame == "chunked twice":
        odd.add(frame)
    headers = [*framing, *draw(st.lists(HEADERS, max_size=3))]
    if any(header.startswith(b"X-Fold") for header in headers):
        odd.add("fold")
    version = draw(st.sampled_from([b"1.1"] * 9 + [b"1.0", b"1.2"]))
    if version == b"1.2":
        odd.add("version")
    status = draw(st.sampled_from([200] * 6 + [204, 304, 429, 500, 999]))
    reason = draw(st.sampled_from([b" OK", b"", b" ", b" \xe9t\xe9 a"]))
    line_end = draw(st.sampled_from([b"\r\n"] * 12 + [b"\n"]))
    if line_end == b"\n":
        odd.add("bare LF")
    content = b"".join(draw(st.lists(INTERIM, max_size=2)))
    lines = [b"HTTP/%b %d%b" % (version, status, reason), *draw(st.permutations(headers)), b"", b""]
    content += line_end.join(lines)
    is_chunked = "chunked" in frame or frame == "capitals"
    content += chunks(draw, body, odd) if is_chunked else body
    content += draw(SURPLUS)
    if draw(st.integers(0, 3)) == 0:
        content = content[: draw(st.integers(0, len(content)))]
    return Wire(content, frozenset(odd))


def parted(content: bytes, cuts: Sequence[int]) -> list[bytes]:
    """The content in parts that end at these places, taken round."""
    places = sorted({cut % (len(content) + 1) for cut in cuts} | {0, len(content)})
    return [content[a:b] for a, b in pairwise(places)]


CUTS = st.lists(st.integers(0, 80_000), max_size=8) | st.just(range(600))


@QUICK
@given(wire=wires(), cuts=CUTS)
def test_an_answer_is_read_as_h11_reads_it(
    loop: asyncio.AbstractEventLoop, wire: Wire, cuts: Sequence[int]
):
    parts = parted(wire.content, cuts)
    ours, theirs = here(loop, parts), h11s(parts)
    if ours[:2] == theirs[:2]:
        assert theirs.is_kept or not ours.is_kept or b"HTTP/1.0" in wire.content
    elif ours.body is None:
        assert wire.odd & STRICTER.keys()
    elif theirs.body is None:
        assert wire.odd & LAXER.keys()
    else:
        pytest.fail("two readings of one answer")


@QUICK
@given(wire=wires(), cuts=CUTS)
def test_where_an_answer_is_cut_into_packets_changes_nothing(
    loop: asyncio.AbstractEventLoop, wire: Wire, cuts: Sequence[int]
):
    whole, cut = here(loop, [wire.content]), here(loop, parted(wire.content, cuts))
    assert cut[:2] == whole[:2]
    if not wire.content.endswith(b"junk"):
        assert cut.is_kept == whole.is_kept


@QUICK
@given(wire=wires(), place=st.integers(0, 80_000), byte=st.integers(0, 255), cuts=CUTS)
def test_a_changed_byte_never_makes_another_answer_of_it_than_h11s(
    loop: asyncio.AbstractEventLoop, wire: Wire, place: int, byte: int, cuts: Sequence[int]
):
    content = bytearray(wire.content)
    if content:
        content[place % len(content)] = byte
    parts = parted(bytes(content), cuts)
    ours, theirs = here(loop, parts), h11s(parts)
    assert ours.body is None or theirs.body is None or ours[:2] == theirs[:2]


OK = b"HTTP/1.1 200 OK\r\n"
EXAMPLES = {
    "version": b"HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nab",
    "fold": OK + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\nab",
    "length and chunked": OK
    + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "lengths": OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
    "bare LF": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nab",
    "trailer": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nContent-Length: 5\r\n\r\n",
    "extension": OK + b"Transfer-Encoding: chunked\r\n\r\n2;\r\nab\r\n0\r\n\r\n",
    "coding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
    "chunked twice": OK + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n2\r\nab\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_named_difference_is_there(loop: asyncio.AbstractEventLoop, name: str):
    parts = [EXAMPLES[name]]
    read = {True: here(loop, parts), False: h11s(parts)}
    assert read[name in LAXER].body == b"ab"
    assert read[name not in LAXER].body is None


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_what_stands_behind_the_body_does_not_replace_a_header(
    loop: asyncio.AbstractEventLoop, size: int
):
    content = OK + b"Retry-After: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n"
    content += b"Retry-After: 9000\r\nX-RateLimit-Remaining-Requests: 0\r\n\r\n"
    connection = _Connection(loop)
    connection.connection_made(Transport())
    answer = connection.ask(b"", 60.0)
    for at in range(0, len(content), size):
        connection.data_received(content[at : at + size])
    connection.end()
    assert answer.result().body == b"ab"
    assert answer.result().headers == {"retry-after": "2", "transfer-encoding": "chunked"}


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_a_connection_on_which_more_comes_than_was_asked_is_not_used_again(
    loop: asyncio.AbstractEventLoop, size: int
):
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
    content = answer * 2
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    assert here(loop, [answer]) == (200, b"ab", True)
    assert here(loop, parts) == (200, b"ab", False)
    assert here(loop, [answer + b"HTTP/1.1 2"]) == (200, b"ab", False)
