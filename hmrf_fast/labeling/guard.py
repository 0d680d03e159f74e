"""Who may talk to the page: the browser that was given its address, and no other page in it."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_READING = ("GET", "HEAD")


class Guard:
    """Refuses requests without the token as the first part of their path, and those that another site sends.

    A page elsewhere does not know the token, cannot read what it may not ask for, and is told apart by Origin and
    Sec-Fetch-Site. That Host names this machine itself, which stops names rebound to it, is checked after this.

    Parameters
    ----------
    app : ASGI application
    token : str
    policy : str
        Content-Security-Policy of all responses.
    """

    def __init__(self, app: Any, token: str, policy: str) -> None:
        self._app, self._token = app, token.encode("ascii")
        self._headers = {**_HEADERS, "Content-Security-Policy": policy}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        refusal = self._refusal(scope)
        app = self._app if refusal is None else PlainTextResponse(f"{refusal}\n", status_code=403)
        await app(scope, receive, send_with_headers)

    def _refusal(self, scope: Any) -> str | None:
        first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if not secrets.compare_digest(first.encode("utf-8", "surrogatepass"), self._token):
            return "This address lacks the token that hmrf-fast printed: use the whole address."
        headers = Headers(scope=scope)
        origin, own = headers.get("origin"), f"http://{headers.get('host', '')}"
        if origin != own and not (origin is None and scope["method"] in _READING):
            return "Only the labelling page itself may send answers."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "Open this address itself, not through another site."
        return None
