"""The entry point ``hmrf-fast``; it can be imported without Typer and Rich, and says when they are missing."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; the exit code is 2 for bad input and 130 after Ctrl-C."""
    try:
        from hmrf_fast.app.application import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        print('The command line needs Typer and Rich: pip install "hmrf_fast[cli]"', file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    app()


if __name__ == "__main__":
    main()
