"""Bring an SGLang server up on a remote GPU host and keep trying until it answers or nothing is left."""

__version__ = "0.1.0"
