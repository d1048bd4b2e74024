"""Judge a server by what it answers. Pure: no clock, no socket, no file."""
