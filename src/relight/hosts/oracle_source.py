"""The script that asks the engine's own argument validation, run by the host's interpreter."""
