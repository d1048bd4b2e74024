"""What runs on the host: small modules of the standard library only, in the grammar of Python 3.8.

`hosts.program` puts them together to one source text, in the order of their imports, and sends it over stdin. Names are
therefore unique across these modules.
"""
