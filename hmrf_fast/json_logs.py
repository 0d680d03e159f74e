"""Logs of batch jobs as JSON lines."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

__all__ = ["JSONLines"]


class JSONLines(logging.Formatter):
    """One JSON object per record.

    It holds "time" (UTC), "level", "logger", "message", "exception" if there is one, and the values of messages that
    name them, such as "start", "iteration", "objective" and "changed" of a fit. Parameters are those of
    `logging.Formatter`; none is needed.

    Numbers that JSON does not have (NaN, infinity) become their names.

    Examples
    --------
    >>> import logging
    >>> from hmrf_fast.json_logs import JSONLines
    >>> handler = logging.StreamHandler()
    >>> handler.setFormatter(JSONLines())
    >>> record = logging.makeLogRecord({"msg": "J = %(objective)g", "args": {"objective": 2.5}, "levelname": "INFO"})
    >>> handler.format(record).endswith('"level": "INFO", "logger": null, "message": "J = 2.5", "objective": 2.5}')
    True
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON.

        Parameters
        ----------
        record : logging.LogRecord

        Returns
        -------
        str
        """
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        if isinstance(record.args, Mapping):
            told |= {str(name): _plain(value) for name, value in record.args.items() if name not in told}
        return json.dumps(told, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """A value that JSON has."""
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()  # of NumPy
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
