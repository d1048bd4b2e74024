"""Exceptions that the engine gets from libraries, under the names those give them."""

import builtins


class OutOfMemoryError(RuntimeError):
    """What torch raises when an allocation on a card fails."""

    __module__ = "torch"


def named(name: str, text: str) -> BaseException:
    """Return an exception whose traceback says `name`: a builtin, or a dotted name as a library has it."""
    known = getattr(builtins, name, None)
    if isinstance(known, type) and issubclass(known, Exception):
        builtin: Exception = known(text)
        return builtin
    module, _, short = name.rpartition(".")
    kind = type(short, (RuntimeError,), {"__module__": module or "builtins"})
    made: RuntimeError = kind(text)
    return made
