"""Describe the engine's argument parser: a script for the host's interpreter (stdlib only, grammar of Python 3.8).

Run as a program it prints one line of JSON after `MARK`; `parser_script` returns its text. Nothing is launched and no
GPU is touched. relight.hosts.parser_answer reads what it prints.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import inspect
import json
import os
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

MARK = "relight-parser "
SIMPLE = (bool, int, float, str, type(None))


def parser_script() -> str:
    """Return this file's text: Python source whose stdout ends with one marked line of JSON."""
    return Path(__file__).read_text(encoding="utf-8")


def plain(value: Any) -> Any:
    """Return `value` as JSON can hold it."""
    if isinstance(value, SIMPLE):
        return value
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [plain(v) for v in value]
        return sorted(items, key=repr) if isinstance(value, (set, frozenset)) else items
    return plain(value.value) if hasattr(value, "value") else repr(value)


def action_of(action: argparse.Action) -> str:
    """Return the kind of an option, as relight.words.parser names it."""
    names = [cls.__name__ for cls in type(action).__mro__]
    for name, kind in (
        ("BooleanOptionalAction", "boolean_optional"),
        ("_StoreTrueAction", "store_true"),
        ("_StoreFalseAction", "store_false"),
        ("_AppendAction", "append"),
        ("_StoreAction", "store"),
    ):
        if name in names:
            return kind
    return "store_true" if action.nargs == 0 else "other"


def deprecation_of(action: argparse.Action) -> str:
    """Return why an option should not be used any more, "" where nothing says so."""
    text = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
    named = "deprecat" in type(action).__name__.lower()
    return (text[:300] or "deprecated") if named or text.lower().lstrip("[( ").startswith("deprecat") else ""


def type_of(action: argparse.Action) -> str:
    """Return the name of an option's converter."""
    kind = action.type
    if kind is None:
        return "bool" if action.nargs == 0 else "str"
    name = getattr(kind, "__name__", None) or type(kind).__name__
    return "json" if "json" in name.lower() or kind is json.loads else name


def describe(action: argparse.Action, fields: dict[str, str]) -> dict[str, Any]:
    """Return one option; `fields` maps a parser's dest to the field of the settings that it fills."""
    default = None if action.default is argparse.SUPPRESS else plain(action.default)
    return {
        "names": [name[2:] for name in action.option_strings if name.startswith("--")],
        "dest": fields.get(action.dest, action.dest),
        "type": type_of(action),
        "choices": [str(plain(c)) for c in (plain(action.choices) or ())],
        "default": default,
        "nargs": action.nargs,
        "action": action_of(action),
        "required": bool(action.required),
        "deprecated": deprecation_of(action),
    }


def fields_of(server_args: Any) -> dict[str, str]:
    """Return which field each dest fills where the two are named differently: `args.field = args.dest`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(server_args.from_cli_args)))
    except (OSError, TypeError, SyntaxError, AttributeError):
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and ast.dump(target.value)[:20] == ast.dump(node.value.value)[:20]:
                found[node.value.attr] = target.attr
    return found


def version_of() -> str | None:
    """Return the engine's version from its metadata, else from the package."""
    from importlib import metadata  # noqa: PLC0415  the host's interpreter may be one without it

    try:
        return metadata.version("sglang")
    except metadata.PackageNotFoundError:
        return getattr(sys.modules.get("sglang"), "__version__", None)


def cuda_of() -> str | None:
    """Return the CUDA that torch here is built for, read from its own file: importing it would take long."""
    try:
        spec = importlib.util.find_spec("torch")
        folders = list(spec.submodule_search_locations or ()) if spec else []
        text = (Path(folders[0]) / "version.py").read_text(encoding="utf-8") if folders else ""
    except (ImportError, ValueError, OSError):
        return None
    found = re.search(r"^cuda\b[^=\n]*=\s*['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return found.group(1) if found else None


def description() -> dict[str, Any]:
    """Import the engine and return all options of its server."""
    from sglang.srt.server_args import (  # type: ignore[import-not-found]  # noqa: PLC0415  the host's own
        ServerArgs,
    )

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    fields = fields_of(ServerArgs)
    options = [describe(a, fields) for a in parser._actions if a.dest != "help"]  # noqa: SLF001  no public list
    return {"version": version_of(), "cuda": cuda_of(), "flags": [o for o in options if o["names"]]}


def main() -> None:
    """Print the description, or why there is none, as one marked line on stdout."""
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    out = os.fdopen(os.dup(1), "w")
    # What the engine prints while it is imported must not mix with the answer.
    os.dup2(2, 1)

    def tell(answer: dict[str, Any]) -> None:
        print(MARK + json.dumps(answer), file=out, flush=True)

    # The engine may fail in any way while it is imported; whatever it is, it is told.
    sys.excepthook = lambda kind, fault, _: tell({"error": f"{kind.__name__}: {fault}"[:2000]})
    tell(description())


if __name__ == "__main__":
    main()
