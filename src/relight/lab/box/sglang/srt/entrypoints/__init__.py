"""Part of the stand-in engine of `relight lab`."""
