"""The library's log as JSON lines in a file, for batch jobs."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["LogFile", "Origin", "heard", "logged"]

LogFile = Annotated[
    Path | None,
    typer.Option(
        "--log-json", metavar="FILE", help="Add what happens to FILE, one JSON object per line; - is standard error."
    ),
]


@contextmanager
def heard(handler: logging.Handler) -> Iterator[None]:
    """Let a handler hear everything that the library says."""
    logger = logging.getLogger("hmrf_fast")
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


class Origin(logging.Handler):
    """Hears from where a fit with a checkpoint began; both are None for one that began anew.

    Attributes
    ----------
    finished, resumed : str or None
        The checkpoint that held the whole fit, or its first part.
    """

    finished: str | None = None
    resumed: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Look at one record."""
        if isinstance(record.args, dict):
            self.finished = record.args.get("checkpoint", self.finished)
            self.resumed = record.args.get("resumed", self.resumed)


@contextmanager
def logged(path: Path | None) -> Iterator[None]:
    """Write the log, and with it all warnings, to a file; nothing without one."""
    if path is None:
        yield
        return
    from hmrf_fast.errors import FileError
    from hmrf_fast.json_logs import JSONLines

    try:
        handler = logging.StreamHandler() if str(path) == "-" else logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise FileError(
            f"{path}: the log cannot be written there ({error.strerror or error}); choose another file"
        ) from error
    handler.setFormatter(JSONLines())
    logger, show = logging.getLogger("hmrf_fast"), warnings.showwarning

    def show_and_log(message: Any, category: type[Warning], *place: Any) -> None:
        logger.warning("%(category)s: %(warning)s", {"category": category.__name__, "warning": str(message)})
        show(message, category, *place)

    warnings.showwarning = show_and_log  # type: ignore[assignment]
    try:
        with heard(handler):
            yield
    except BaseException as error:
        with heard(handler):
            logger.error("%(error)s: %(reason)s", {"error": type(error).__name__, "reason": str(error)})
        raise
    finally:
        warnings.showwarning = show
        handler.close()
