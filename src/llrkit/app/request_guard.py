"""Who may ask: requests to this very address, from its own pages, by whoever has the token.

Every request passes here first. A page of another site cannot reach the application: under a name that was
bound to this machine (DNS rebinding) the host is wrong, a form or script of it has another origin, and its
requests carry no cookie of ours.
"""

from __future__ import annotations

import ipaddress
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs

import h11
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SANDBOXED = "sandbox allow-scripts allow-downloads allow-popups; frame-ancestors 'none'"
"""Of documents: they run in an origin of their own, with no way to the application."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT"})
LONGEST_TARGET = 4096
"""Bytes of a path and its query."""


@dataclass(frozen=True)
class Address:
    """Where the application listens, and under which names it may be asked for."""

    host: str
    port: int
    remote: bool = False

    def allows(self, host: str) -> bool:
        """Whether a Host header means this address; any number of this machine where it listens on all.

        Examples
        --------
        >>> here = Address("127.0.0.1", 8000)
        >>> [here.allows(host) for host in ("127.0.0.1:8000", "localhost:8000", "evil.test:8000", "")]
        [True, True, False, False]
        """
        if host.lower() in {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")}:
            return True
        if not self.remote:
            return False
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        if name.lower() == self.host.lower():
            return True
        try:  # a number cannot be bound to another machine, a name can
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return self.host in ("0.0.0.0", "::")

    @property
    def shown(self) -> str:
        """The address as one opens it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{host}:{self.port}/"


@dataclass
class Guard:
    """Checks host, origin, method and session, and sets the headers of every answer."""

    app: ASGIApp
    address: Address
    refused: Callable[[int, str], Response]
    """Makes the page that says why a request was refused."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _used: bool = False

    @property
    def cookie(self) -> str:
        """Its name: ports share their cookies."""
        return f"llrkit-{self.address.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        begun = False

        async def guarded_send(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in given),
                ]
            await send(message)

        try:
            answer = self._refusal(scope) or self._login(scope)
            if answer is not None:
                await answer(scope, receive, guarded_send)
            else:
                await self.app(scope, receive, guarded_send)
        except h11.LocalProtocolError:  # the client broke off or broke the rules: nobody waits for an answer
            return
        except Exception as error:  # never a traceback, neither on the page nor on the terminal
            print(f"llrkit: internal error: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            if not begun:
                page = self.refused(500, "Something went wrong here. Nothing was changed; please report it.")
                await page(scope, receive, guarded_send)

    def _refusal(self, scope: Scope) -> Response | None:
        """The page of a request that is not for us, or None."""
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in (b"host", b"origin", b"content-length") and name in headers:
                return self.refused(400, "A header came twice.")
            headers[name] = value
        host = headers.get(b"host", b"").decode("latin-1")
        if not self.address.allows(host):
            return self.refused(421, "This application is not known under that name.")
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_TARGET:
            return self.refused(414, "The address is too long.")
        if scope["method"] not in METHODS:
            return self.refused(405, "This method is not supported.")
        if scope["method"] in ("POST", "PUT"):
            origin = headers.get(b"origin", b"").decode("latin-1").lower()
            site = headers.get(b"sec-fetch-site", b"same-origin")
            if origin != f"http://{host.lower()}" or site != b"same-origin":
                return self.refused(403, "This request did not come from a page of the application.")
        return None

    def _login(self, scope: Scope) -> Response | None:
        """The answer to the token, and to whoever has neither token nor cookie; None for all others."""
        if scope["path"].startswith("/static/"):
            return None
        known = self._has_session(scope)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and given:
            fits = secrets.compare_digest(given.encode(), self.token.encode())
            if fits and not self._used and scope["method"] == "GET":
                self._used = True
                answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
                answer.set_cookie(self.cookie, self._session, httponly=True, samesite="strict", path="/")
                return answer
            if known:
                return RedirectResponse("/", HTTPStatus.SEE_OTHER)
            said = "has been used already" if fits else "is wrong"
            return self.refused(
                403, f"The token of this address {said}. Start llrkit app again for a new one."
            )
        if not known:
            return self.refused(403, "Open the address that llrkit app printed; it holds a token.")
        return None

    def _has_session(self, scope: Scope) -> bool:
        for name, value in scope["headers"]:
            if name != b"cookie":
                continue
            for pair in value.split(b";"):
                key, _, text = pair.strip().partition(b"=")
                if key == self.cookie.encode() and secrets.compare_digest(text, self._session.encode()):
                    return True
        return False
