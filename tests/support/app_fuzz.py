"""Hostile requests: what a page of another site, a broken client or an attacker might send.

Two thirds carry the cookie and the origin of a page, so that they get past the guard. Bodies, names, paths
and headers are drawn from a grammar of things that broke other servers, and mixed with chance.
"""

from __future__ import annotations

import random
import re
import socket
from collections import Counter
from urllib.parse import quote, quote_from_bytes

from app_server import Server

CANARY = "canary-7f3a"
"""Stands in files that no answer may show."""
EVIL = (
    "..", "../..", "../../../../etc/passwd", "/etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/",
    "..\\..\\x", "\x00", "a\x00.csv", "con", "NUL.csv", ".hidden", "-o", "--help", "$(id)", "`id`",
    "; rm -rf /", "| cat", "*", "[a]", "{{7*7}}", "{% raw %}", "${7*7}", "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", "\"'><svg/onload=1>", "é", "名前", "\u202e",
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "A" * 3000, "\r\nX-Evil: 1", "1e999",
    "nan", "-inf", "0x10", "1_0", "9" * 400, "", " ", "\t", "file:///etc/passwd", "http://evil.test/",
    "project.json", "files/a.csv", ".saving", ".saved", "work", "True", "null", "[]", "{}",
)  # fmt: skip
FIELDS = (
    "file", "use", "score", "label", "positive", "kind", "decimal", "columns", "missing_scores",
    "points", "ci", "by", "speaker1", "speaker2", "words", "base_10", "by3", "change4", "method",
    "bound", "low", "high", "on0", "metric0", "limit0", "value0", "on5", "metric5", "interval",
    "verbal", "report_system", "scores", "questioned", "h1", "h2", "train", "validation", "conditions",
    "name", "job", "page", "seen", "token",
)  # fmt: skip
GOOD = {
    "file": ("a.csv", "b.csv"), "use": ("train", "validation", ""), "ci": ("", "trial"),
    "method": ("cmlg", "pav"), "bound": ("fixed", "sources", "none"), "metric0": ("cllr", "verdict"),
    "limit0": ("at_most",), "on0": ("on",), "value0": ("0.5",), "kind": ("", "log10"), "h1": ("x",),
    "h2": ("y",), "scores": ("0.5", "1;2"), "low": ("-1",), "words": ("forensic", "nist"),
    "base_10": ("", "on"), "speaker1": ("", "speaker"),
}  # fmt: skip
METHODS = (
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "PROPFIND", "get",
    "X" * 40,
)  # fmt: skip
STEPS = (
    "files", "evaluate", "advise", "calibrate", "validate", "case", "documents", "jobs", "save",
    "cancel", "files/read", "files/remove", "settings", "commands.sh", "close", "nothing",
)  # fmt: skip
TYPES = (
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data",
    "text/plain", "application/json", "application/x-www-form-urlencoded; charset=utf-16", "", "\x7f",
    "multipart/mixed; boundary=" + "b" * 200,
)  # fmt: skip
ODD_HEADERS = (
    "Host: evil.test", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked",
    "Expect: 100-continue", "X-Forwarded-Host: evil.test", "Range: bytes=0-,5-3,-9999999999",
    "Upgrade: websocket", ": x", "X" * 70000, "If-None-Match: *", "Sec-Fetch-Site: cross-site",
    "Connection: Upgrade, close",
)  # fmt: skip


class Attack:
    """A seeded stream of requests to one project of a running application."""

    def __init__(self, server: Server, cookie: str, project: str, seed: int) -> None:
        self.server, self.cookie, self.project = server, cookie, project
        self.chance = random.Random(seed)
        self.statuses: Counter[str] = Counter()
        self.connection: socket.socket | None = None
        self._is_head = self._is_incomplete = False

    def run(self, count: int) -> Counter[str]:
        """Send so many requests; what must never be answered is an AssertionError with the request."""
        for _ in range(count):
            request = self.request()
            answer = self._answer(request)
            self._check(request, answer)
        self._hang_up()
        return self.statuses

    def request(self) -> bytes:
        """One request, as bytes."""
        chance = self.chance
        method = (
            chance.choice(METHODS)
            if chance.random() < 0.25
            else chance.choice(("GET", "POST", "POST", "PUT"))
        )
        body = self._body(method)
        head = [f"{method} {self._target(method)} HTTP/1.1".encode("latin-1", "replace")]
        head += self._headers(len(body))
        self._is_head = method == "HEAD"
        # a length that is not that of the body, or pieces that never come: the server may wait, we do not
        announced = [line for line in head if line.lower().startswith((b"content-length", b"transfer-enc"))]
        self._is_incomplete = announced != [f"Content-Length: {len(body)}".encode()]
        return b"\r\n".join(head) + b"\r\n\r\n" + body

    def _target(self, method: str) -> str:
        chance = self.chance
        kind = chance.random()
        if kind < 0.15:
            return "/" + quote(chance.choice(EVIL), safe=chance.choice(("", "/%", "/.%\\")))
        if kind < 0.25:
            return f"/static/{quote(chance.choice(EVIL), safe='/%')}"
        project = self.project if chance.random() < 0.9 else f"/p/{quote(chance.choice(EVIL), safe='')}"
        if method == "PUT":
            return f"{project}/files?name={quote(self._text(), safe='')}"
        if chance.random() < 0.2:
            return f"{project}/documents/{quote(chance.choice(EVIL), safe='')}?view"
        step = chance.choice(STEPS)
        if step == "close" and project == self.project:  # else there is nothing left to attack
            step = "nothing"
        extra = (
            f"?{quote_from_bytes(chance.randbytes(6))}={chance.choice(EVIL[:3])}"
            if chance.random() < 0.1
            else ""
        )
        return f"{project}/{step}{extra}".replace(" ", "%20")

    def _headers(self, length: int) -> list[bytes]:
        chance, port = self.chance, self.server.port
        good = chance.random() < 0.67
        odd = lambda fine, *others: fine if good or chance.random() < 0.5 else chance.choice(others)  # noqa: E731
        lines = [f"Host: {odd(f'127.0.0.1:{port}', 'evil.test', f'evil.test:{port}', '', '127.0.0.1')}"]
        lines.append(f"Origin: {odd(self.server.origin, 'null', 'http://evil.test', '', 'x' * 2000)}")
        wrong = self.cookie[:-2] + "xx"
        lines.append(f"Cookie: {odd(self.cookie, wrong, 'a=b', ';' * 500, self.cookie.upper())}")
        lines.append(f"Content-Type: {TYPES[0] if chance.random() < 0.7 else chance.choice(TYPES)}")
        sizes = (str(length), str(length + 5), "-1", "1e3", "9" * 30, "", "0x10")
        lines.append(f"Content-Length: {str(length) if chance.random() < 0.93 else chance.choice(sizes)}")
        if chance.random() < 0.05:
            lines.append(chance.choice(ODD_HEADERS))
        return [line.encode("latin-1", "replace") for line in lines]

    def _body(self, method: str) -> bytes:
        chance = self.chance
        if method not in ("POST", "PUT", "PATCH", "DELETE"):
            return b""
        if method == "PUT":
            return chance.choice(
                (b"", chance.randbytes(50), b"score,label\n1,target\n0,nontarget\n", b"x" * 3000)
            )
        kind = chance.random()
        if kind < 0.7:
            names = chance.sample(FIELDS, chance.randint(0, 8)) + [chance.choice(EVIL)] * (
                chance.random() < 0.1
            )
            return "&".join(f"{quote(name, safe='')}={self._value(name)}" for name in names).encode()
        if kind < 0.8:
            name = chance.choice(EVIL)
            return (
                f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
                f"\r\n{name}\r\n--x--\r\n"
            ).encode("utf-8", "replace")
        if kind < 0.85:
            return b"&".join(b"a=b" for _ in range(chance.choice((10, 600, 3000))))
        if kind < 0.9:
            return b"file=" + bytes(chance.choice((b"%ff%fe", b"%", b"%zz", b"\xff\xfe", b"%00")))
        if kind < 0.93:
            return b"[" * 20000
        return chance.randbytes(chance.choice((1, 20, 400)))

    def _value(self, name: str) -> str:
        if name in GOOD and self.chance.random() < 0.5:
            return quote(self.chance.choice(GOOD[name]), safe="")
        return quote(self._text(), safe="")

    def _text(self) -> str:
        chance = self.chance
        return chance.choice(EVIL) if chance.random() < 0.7 else chance.choice(EVIL) + chance.choice(EVIL)

    def _answer(self, request: bytes) -> bytes:
        """The whole answer; the connection is kept if the server keeps it."""
        for fresh in (False, True):
            try:
                if self.connection is None:
                    self.connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=20)
                self.connection.sendall(request)
                return self._read(self.connection)
            except (ConnectionError, TimeoutError) as error:
                self._hang_up()
                if isinstance(error, TimeoutError):  # it waits for a body that was announced and never comes
                    return b""
                if fresh:
                    return b""
        return b""

    def _read(self, connection: socket.socket) -> bytes:
        answer = b""
        connection.settimeout(0.3 if self._is_incomplete else 20)
        while b"\r\n\r\n" not in answer:
            piece = connection.recv(65536)
            if not piece:
                self._hang_up()
                return answer
            answer += piece
        head, _, rest = answer.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        wanted = 0 if self._is_head or length is None else int(length[1])
        while len(rest) < wanted:
            piece = connection.recv(65536)
            if not piece:
                break
            rest += piece
        if b"connection: close" in head.lower() or length is None or self._is_incomplete:
            self._hang_up()
        return head + b"\r\n\r\n" + rest

    def _hang_up(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _check(self, request: bytes, answer: bytes) -> None:
        status = answer.split(b" ", 2)[1].decode() if answer.startswith(b"HTTP/1.1 ") else "none"
        self.statuses[status] += 1
        shown = request[:600]
        assert status[0] != "5", (status, shown, answer[:500])
        for never in (b"Traceback", b'File "/', CANARY.encode(), b"root:x:0"):
            assert never not in answer, (never, shown)
        head = answer.partition(b"\r\n\r\n")[0].lower()
        assert b"x-evil" not in head, shown
        if status != "none" and b"text/html" in head:
            assert b"<script>alert" not in answer, shown
            assert b"<img src=x" not in answer, shown
        if status == "200":
            assert b"content-security-policy" in head, shown
