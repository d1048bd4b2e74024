"""The script that describes the engine's argument parser, run by the host's interpreter."""

from relight.words.parser import HostParser


def parser_script() -> str:
    """Return Python source (stdlib, 3.8 grammar); its stdout ends with one line of JSON that `read_parser` reads."""
    return ""


def read_parser(stdout: bytes) -> HostParser:
    """Return the parser that the script described. Raises HostError with the script's own reason."""
    return HostParser(())
