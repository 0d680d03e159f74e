"""Text that is safe inside a page, whatever it holds."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence

# Characters that HTML forbids, and lone surrogates, which no file can hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def escaped(text: object, longest: int | None = None) -> str:
    """Text as HTML, white space folded, cut after a number of characters."""
    told = str(text)
    if longest is not None:
        told = told[: 4 * longest]  # folding a whole book for its first lines would take long
    told = " ".join(_FORBIDDEN.sub("\ufffd", told).split())
    if longest is not None and len(told) > longest:
        told = told[:longest].rstrip() + "\u2026"
    return html.escape(told)


def number(value: float, digits: int = 3) -> str:
    """A number as people write it."""
    if math.isnan(value):
        return "\u2013"
    if math.isinf(value):
        return "\u221e" if value > 0 else "\u2212\u221e"
    if value and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits}g}".replace("-", "\u2212")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(decimals, 6)}f}".replace("-", "\u2212")


def table(head: Sequence[str], rows: Sequence[tuple[str, ...]], style: str = "") -> str:
    """A table of cells that are HTML already; it scrolls on its own where it is too wide."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table class="{style}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )
