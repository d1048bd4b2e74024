"""Questions that act for the controller: a command, an HTTP request on the host's loopback."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import ssl
import tempfile
import time
from typing import Any
from urllib.parse import urlsplit

from relight.hosts.agent.environment import launch_env, launch_python, run_command
from relight.hosts.agent.folders import Refused, Site, make_private


def ask_run(
    site: Site, blob: bytes, argv: list[str], env: dict[str, str], patience: float, launch_env_too: bool
) -> Any:
    """Run a command; answer its code, how long stdout is, and both outputs."""
    argv = [launch_python(site) if n == 0 and word == "PYTHON" else word for n, word in enumerate(argv)]
    if not launch_env_too:
        code, out, err = run_command(argv, patience, dict(os.environ, **env), blob)
        return {"code": code, "split": len(out)}, out + err
    folder = tempfile.mkdtemp(dir=make_private(os.path.join(site.workdir, "tmp")))
    try:
        code, out, err = run_command(argv, patience, launch_env(site, env, {}), blob, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"code": code, "split": len(out)}, out + err


def ask_http(
    site: Site, blob: bytes, url: str, method: str, headers: dict[str, str], patience: float, limit: int
) -> Any:
    """Ask an HTTP server, proxies ignored: http.client knows none. Time is bounded as a whole, not per read."""
    started = time.monotonic()
    try:
        answer, body = exchange(url, method, headers, blob, patience, limit)
    except (OSError, http.client.HTTPException) as error:
        answer, body = {"status": None, "headers": {}, "error": word_for(error), "cut": False}, b""
    return dict(answer, seconds=time.monotonic() - started), body


def exchange(url: str, method: str, headers: dict[str, str], body: bytes, patience: float, limit: int) -> Any:
    """Send one request, return status and headers, and the body up to `limit`."""
    until = time.monotonic() + patience
    link = connection(url, patience)
    try:
        parts = urlsplit(url)
        link.request(method, (parts.path or "/") + ("?" + parts.query if parts.query else ""), body or None, headers)
        response = link.getresponse()
        data, cut = read_body(link, response, until, limit)
        return {"status": response.status, "headers": dict(response.getheaders()), "error": "", "cut": cut}, data
    finally:
        link.close()


def connection(url: str, patience: float) -> http.client.HTTPConnection:
    """Return an unopened connection; a server's own certificate is not checked on its own loopback."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Refused(f"not a URL of HTTP: {url}")
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=patience)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(parts.hostname, parts.port or 443, timeout=patience, context=context)


def read_body(
    link: http.client.HTTPConnection, response: http.client.HTTPResponse, until: float, limit: int
) -> tuple[bytes, bool]:
    """Read a body until it ends, is too long or time is up; say whether it was cut."""
    data = b""
    while len(data) < limit:
        left = until - time.monotonic()
        if left <= 0:
            return data, True
        if link.sock is not None:
            link.sock.settimeout(left)
        try:
            piece = response.read1(min(65536, limit - len(data)))
        except socket.timeout:
            return data, True
        if not piece:
            return data, False
        data += piece
    return data, bool(response.read1(1))


def word_for(error: Exception) -> str:
    """Return "refused", "timeout" or what the system says."""
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    if isinstance(error, socket.timeout):
        return "timeout"
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
