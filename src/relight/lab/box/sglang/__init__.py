"""A stand-in for the SGLang package, written for `relight lab`: it loads no model and uses no GPU.

It has the outside of the engine (flags, checks, log lines, processes, HTTP, memory arithmetic), so that what deploys
the engine can be tried without one. The release it plays is in the scenario of its machine.
"""
