"""Options from a TOML file, for runs that are repeated."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import typer

__all__ = ["CONFIG_HELP", "use_config"]

CONFIG_HELP = (
    "TOML file with options: a table per command, such as [fit], with n-clusters = 20 and so on; arguments too, by the "
    "name that usage shows. What is said on the command line counts more."
)


def use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Make the options of the file the defaults of the command."""
    if path is None:
        return None
    try:
        tables: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path}: is not TOML ({error})") from None
    names = _names_of(context)
    for name in names:
        tables = tables.get(name, {}) if isinstance(tables, dict) else {}
    if not tables or not isinstance(tables, dict):
        raise typer.BadParameter(f"{path}: has no table [{'.'.join(names)}] with the options of this command")
    known = {_key(name): parameter for parameter in context.command.params for name in _spellings(parameter)}
    for name in tables:
        if _key(name) not in known:
            raise typer.BadParameter(
                f"{path}: [{'.'.join(names)}] has no option {name!r}; there are "
                f"{', '.join(sorted(set(known) - {'config'}))}"
            )
    context.default_map = {
        known[_key(name)].name: [value] if known[_key(name)].multiple and not isinstance(value, list) else value
        for name, value in tables.items()
    }
    return path


def _names_of(context: typer.Context) -> list[str]:
    """The command's name without the program's: ["fit"], or ["constraints", "check"]."""
    names: list[str] = []
    step: Any = context
    while step.parent is not None:
        names.insert(0, step.info_name or "")
        step = step.parent
    return names


def _spellings(parameter: Any) -> list[str]:
    # Not those that switch off: infer = false says it, and no-infer = true would be read as infer = true.
    return [name for name in parameter.opts if name.startswith("--")] + [parameter.name]


def _key(name: str) -> str:
    return name.removeprefix("--").replace("_", "-").lower()
