"""The labelling page as a real process, and what its tests ask of it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from commands import COMMAND
from text_corpus import json_lines, records

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "msedge")
LABEL = {record["id"]: record["label"] for record in records()}
PATIENCE = 240.0  # seconds; a first fit compiles


def browser() -> str | None:
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def corpus(folder: Path) -> Path:
    """The small corpus of texts, as a file."""
    path = folder / "corpus.jsonl"
    path.write_bytes(json_lines())
    return path


class Page(NamedTuple):
    """A process that serves the page."""

    process: subprocess.Popen
    url: str

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal; exit code, output and errors."""
        self.process.send_signal(number)
        told, wrong = self.process.communicate(timeout=60)
        return self.process.returncode, told, wrong


@contextlib.contextmanager
def served(*arguments: object, cwd: Path) -> Iterator[Page]:
    """``hmrf-fast label`` until the end of the context, or until it is ended."""
    # A shell that starts jobs in the background lets them ignore Ctrl-C, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [*COMMAND, "label", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=cwd,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        process.stdout.readline()
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), url + process.stderr.read()
        yield Page(process, url)
    finally:
        process.terminate()  # as people end it; what it then still does is to be seen as well
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=60)
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


class Answer(NamedTuple):
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def request(url: str, body: object = None, method: str | None = None, **headers: str) -> Answer:
    """One request; headers with _ for -."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    asked = urllib.request.Request(url, data, named, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=60) as response:
            return Answer(response.status, dict(response.headers), response.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, dict(error.headers), error.read())


def post(page: Page, path: str, body: object, **headers: str) -> Answer:
    """As the page itself sends it."""
    own = {"Content_Type": "application/json", "Origin": f"http://127.0.0.1:{page.port}"}
    return request(page.url + path, body, "POST", **{**own, **headers})


def true_answer(state: dict) -> str:
    """What somebody who knows the classes answers."""
    first, second = (LABEL[row["name"]] for row in state["question"]["rows"])
    return "same" if first == second else "different"


def rested(page: Page) -> dict:
    """The state once the background has caught up."""
    deadline = time.monotonic() + PATIENCE
    while (state := request(page.url + "state").json)["fitting"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return state


posix = os.name == "posix"
