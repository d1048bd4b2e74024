"""What a host says about itself. Texts of other programs go back raw: `hosts.readers` reads them."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import socket
import stat
import sys
import time
from contextlib import suppress
from typing import Any

from relight.hosts.agent.environment import login_env, login_shell, run_command, tool
from relight.hosts.agent.folders import Refused, Site, boot_id, expand, read_text
from relight.hosts.agent.processes import all_processes, command_of, user_name
from relight.hosts.agent.shared import SHM

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
GPU_QUERY = "index,uuid,name,memory.total,memory.used,driver_version,power.draw,utilization.gpu"
APP_QUERY = "gpu_uuid,pid,used_memory,process_name"


def ask_facts(site: Site) -> dict[str, Any]:
    """Answer what a host is."""
    login = login_env()
    memory = parse_meminfo(read_text("/proc/meminfo"))
    shm = room(SHM)
    return {
        "user": user_name(os.getuid()),
        "uid": os.getuid(),
        "home": os.path.expanduser("~"),
        "workdir": site.workdir,
        "hostname": socket.gethostname(),
        "kernel": platform.release(),
        "boot_id": boot_id(),
        "now": time.time(),
        "python": sys.executable,
        "python_version": platform.python_version(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_total": memory.get("MemTotal", 0) // 1024,
        "memory_free": memory.get("MemAvailable", 0) // 1024,
        "shm_total": shm and shm[1] >> 20,
        "shm_free": shm and shm[0] >> 20,
        "ulimits": ulimits(),
        "login_path": login.get("PATH", ""),
        "login_shell": login_shell(),
        "proxies": {k: v for k, v in login.items() if k.lower() in PROXIES},
        "kills_user_processes": kills_user_processes(),
        "container": container(),
    }


def ask_clock(site: Site) -> float:
    """Answer the time here."""
    return time.time()


def parse_meminfo(text: str) -> dict[str, int]:
    """Read /proc/meminfo, KiB."""
    return {m.group(1): int(m.group(2)) for m in re.finditer(r"(?m)^(\w+):\s+(\d+)", text)}


def room(path: str) -> tuple[int, int] | None:
    """Return free (for us) and total bytes of the filesystem of `path`."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize


def ulimits() -> dict[str, int | None]:
    """Return the soft limits that matter, None for unlimited."""
    kinds = {"nofile": resource.RLIMIT_NOFILE, "memlock": resource.RLIMIT_MEMLOCK, "nproc": resource.RLIMIT_NPROC}
    soft = {name: resource.getrlimit(kind)[0] for name, kind in kinds.items()}
    return {name: None if value == resource.RLIM_INFINITY else value for name, value in soft.items()}


def kills_user_processes() -> bool | None:
    """Say whether logind ends this user's processes at logout; None where it does not say."""
    busctl, loginctl = tool("busctl"), tool("loginctl")
    if not busctl or not os.path.isdir("/run/systemd/system"):
        return False if not os.path.isdir("/run/systemd/system") else None
    place = ["org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"]
    code, out, _ = run_command([busctl, "get-property", *place, "KillUserProcesses"], 5.0)
    if code != 0:
        return None
    if out.strip() != b"b true":
        return False
    user = user_name(os.getuid())
    lingers = run_command([loginctl, "show-user", user, "-p", "Linger"], 5.0)[1] if loginctl else b""
    return user != "root" and lingers.strip() != b"Linger=yes"


def container() -> str:
    """Return the kind of container we are in, "" on a plain machine."""
    for path, kind in (("/run/.containerenv", "podman"), ("/.dockerenv", "docker")):
        if os.path.exists(path):
            return kind
    found = re.search(r"(?:^|\0)container=(\w+)", read_text("/proc/1/environ"))
    if found:
        return found.group(1)
    return container_of_cgroup(read_text("/proc/1/cgroup") + read_text("/proc/self/mountinfo"))


def container_of_cgroup(text: str) -> str:
    """Return the kind of container that control groups or mounts give away."""
    kinds = (("kubepods", "kubernetes"), ("/docker/", "docker"), ("libpod", "podman"), ("/lxc/", "lxc"))
    return next((kind for word, kind in kinds if word in text), "")


def ask_gpus(site: Site) -> dict[str, Any]:
    """Answer nvidia-smi's two tables; `there` is False where it does not exist."""
    smi = tool("nvidia-smi", site.python)
    if smi is None:
        return {"there": False}
    form = "--format=csv,noheader,nounits"
    cards = run_command([smi, f"--query-gpu={GPU_QUERY}", form], 20.0)
    apps = run_command([smi, f"--query-compute-apps={APP_QUERY}", form], 20.0)
    if cards[0] != 0:
        said = (cards[1] + cards[2]).decode("utf-8", "replace").strip()
        raise Refused(f"nvidia-smi failed: {said or 'no answer within 20 s; the driver hangs'}")
    texts = [part[1].decode("utf-8", "replace") for part in (cards, apps)]
    return {"there": True, "cards": texts[0], "apps": texts[1] if apps[0] == 0 else ""}


def ask_listeners(site: Site) -> list[dict[str, Any]]:
    """Answer who listens on TCP."""
    found = parse_tcp(read_text("/proc/net/tcp")) + parse_tcp(read_text("/proc/net/tcp6"))
    holders = socket_holders({inode for _, _, inode in found})
    procs = all_processes()
    answer = []
    for address, port, inode in found:
        proc = procs.get(holders.get(inode, 0))
        answer.append(
            {
                "port": port,
                "address": address,
                "pid": proc and proc.pid,
                "start": proc and proc.start,
                "command": command_of(proc) if proc else "",
            }
        )
    return answer


def parse_tcp(text: str) -> list[tuple[str, int, int]]:
    """Read /proc/net/tcp or tcp6: address, port and inode of sockets that listen."""
    found = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == "0A":
            address, port = fields[1].split(":")
            found.append((parse_address(address), int(port, 16), int(fields[9])))
    return found


def parse_address(text: str) -> str:
    """Read an address as the kernel writes it: words of four bytes, each in the machine's order."""
    words = [bytes.fromhex(text[i : i + 8]) for i in range(0, len(text), 8)]
    raw = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    return socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw)


def socket_holders(inodes: set[int]) -> dict[int, int]:
    """Return which process holds each of these sockets, as far as we may see. The lowest pid wins: the parent."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[int, int] = {}
    for pid in sorted((int(n) for n in os.listdir("/proc") if n.isdigit()), reverse=True):
        with suppress(OSError):
            for number in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    inode = wanted.get(os.readlink(f"/proc/{pid}/fd/{number}"))
                    if inode is not None:
                        found[inode] = pid
    return found


def ask_disk(site: Site, path: str) -> dict[str, Any]:
    """Answer the room on the filesystem that holds `path`."""
    place = os.path.abspath(expand(path))
    while not os.path.exists(place):
        place = os.path.dirname(place)
    found = room(place)
    if found is None:
        raise Refused(f"cannot tell the free space of {place}")
    return {"path": place, "free": found[0], "total": found[1], "read_only": not os.access(place, os.W_OK)}


def ask_stat(site: Site, path: str) -> dict[str, Any] | None:
    """Answer kind, size and time of a path; links are followed."""
    return stat_of(expand(path))


def stat_of(path: str) -> dict[str, Any] | None:
    """Return kind, size and time of a path, None where nothing is."""
    try:
        found = os.stat(path)
    except OSError:
        if not os.path.islink(path):
            return None
        found = os.lstat(path)
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "folder"), (stat.S_ISLNK, "link"))
    kind = next((name for test, name in kinds if test(found.st_mode)), "other")
    return {"kind": kind, "size": found.st_size, "modified": found.st_mtime}


def ask_list_dir(site: Site, path: str) -> list[dict[str, Any]]:
    """Answer the names in a folder."""
    folder = expand(path)
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise Refused(f"cannot list {path}: {error.strerror}") from error
    stats = ((name, stat_of(os.path.join(folder, name))) for name in names)
    return [{"name": name, "kind": s["kind"], "size": s["size"]} for name, s in stats if s]


def ask_kernel_log(site: Site) -> dict[str, Any]:
    """Answer the kernel's messages: dmesg, then journalctl -k; never with more rights than we have."""
    uptime = float(read_text("/proc/uptime").split()[0])
    for kind, argv in (("dmesg", ["dmesg"]), ("journal", ["journalctl", "-k", "-o", "short-unix", "--no-pager", "-q"])):
        path = tool(argv[0])
        code, out, _ = run_command([path, *argv[1:]], 10.0) if path else (None, b"", b"")
        if code == 0 and out.strip():
            return {"kind": kind, "text": out.decode("utf-8", "replace"), "booted": time.time() - uptime}
    return {"kind": "", "text": "", "booted": 0.0}


def ask_images(site: Site) -> list[str]:
    """Answer names of container images."""
    for name in ("docker", "podman"):
        path = tool(name)
        code, out, _ = run_command([path, "images", "--format", "json"], 10.0) if path else (None, b"", b"")
        if code == 0:
            return sorted(parse_images(out.decode("utf-8", "replace")))
    return []


def parse_images(text: str) -> set[str]:
    """Read `docker images --format json` (a document a line) or podman's list."""
    docs: list[dict[str, Any]] = []
    with suppress(ValueError):
        docs = json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in text.splitlines()]
    names = {f"{d['Repository']}:{d.get('Tag', 'latest')}" for d in docs if d.get("Repository")}
    return names | {name for d in docs for name in d.get("Names") or []}
