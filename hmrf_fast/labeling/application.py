"""The routes of the page: the page itself, where things stand, an answer, an answer taken back. No files."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from hmrf_fast.errors import HMRFError, StaleError
from hmrf_fast.labeling.desk import Desk
from hmrf_fast.labeling.guard import Guard

HOSTS = ("127.0.0.1", "localhost")
LARGEST_BODY = 4096  # bytes; an answer has about 80
SLOWEST_BODY = 5.0  # seconds


def application(desk: Desk, token: str) -> Starlette:
    """The page of a desk as an ASGI application, below ``/token/``."""
    page, policy = rendered()

    async def show(request: Request) -> Response:
        return HTMLResponse(page)

    async def state(request: Request) -> Response:
        return _json(await run_in_threadpool(desk.state))

    async def answer(request: Request) -> Response:
        told = await _object(request, {"revision": int, "pair": list, "word": str})
        return await _attempt(lambda: desk.answer(**told)) if told else _BAD

    async def undo(request: Request) -> Response:
        told = await _object(request, {"revision": int})
        return await _attempt(lambda: desk.undo(**told)) if told else _BAD

    return Starlette(
        routes=[
            Route(f"/{token}/", show, methods=["GET"]),
            Route(f"/{token}/state", state, methods=["GET"]),
            Route(f"/{token}/answer", answer, methods=["POST"]),
            Route(f"/{token}/undo", undo, methods=["POST"]),
        ],
        middleware=[
            Middleware(Guard, token=token, policy=policy),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS), www_redirect=False),
        ],
        max_body_size=LARGEST_BODY,
    )


def rendered() -> tuple[str, str]:
    """The page, whole in one document, and the policy that lets its own script and style run and nothing else."""
    own = files("hmrf_fast.labeling")
    # The report's colours and shapes, and what only this page has.
    sheets = (files("hmrf_fast.reporting") / "page.css", own / "page.css")
    style = "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    script = (own / "page.js").read_text(encoding="utf-8")
    page = (own / "page.html").read_text(encoding="utf-8")
    page = page.replace("/* style */", style).replace("/* script */", script)
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page, policy


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


async def _attempt(do: Callable[[], dict[str, Any]]) -> Response:
    """The state after it, or one sentence why it was not done."""
    try:
        return _json(await run_in_threadpool(do))
    except HMRFError as error:
        return _json({"error": " ".join(str(error).split())}, 409 if isinstance(error, StaleError) else 400)


async def _object(request: Request, members: dict[str, type]) -> dict[str, Any] | None:
    """The body as a JSON object with exactly these members, or None."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return None
    try:
        told = json.loads(await asyncio.wait_for(request.body(), SLOWEST_BODY))
    except (ValueError, RecursionError, TimeoutError, ClientDisconnect):
        return None
    if not isinstance(told, dict) or told.keys() != members.keys():
        return None
    return told if all(type(told[name]) is kind for name, kind in members.items()) else None


def _json(told: Any, status: int = 200) -> Response:
    # ASCII: texts may hold lone surrogates, which UTF-8 has not.
    return Response(json.dumps(told, allow_nan=False).encode("ascii"), status, media_type="application/json")


_BAD = _json({"error": "the request is not one that this page sends"}, 400)
