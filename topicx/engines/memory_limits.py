"""Memory: what this process may still use, and sizes as people write them."""

from __future__ import annotations

import re

from topicx.errors import InputError

BYTE_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def free_memory() -> int:
    """Bytes that a process may still use: what the system has, and what a container and `ulimit -v` leave."""
    import contextlib
    import mmap
    import sys
    from pathlib import Path

    room = sys.maxsize
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                room = min(room, int(line.split()[1]) * 1024)
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())
        room = min(room, limit - int((group / "memory.current").read_text()))
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
            room = min(room, max(limit - used, 0))
    return room


def parse_size(text: str) -> int:
    """Bytes, from a number with a unit: 800M, 12G, 1.5 GB."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)i?b?\s*", text.lower())
    if not found or float(found[1]) == 0:
        raise InputError(f"memory: {text!r} is not a size such as 800M or 12G")
    return int(float(found[1]) * BYTE_UNITS[found[2]])


def told_size(size: int) -> str:
    """Bytes as people read them."""
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}" if size < 100 * unit else f"{size / unit:.0f} {name}"
    return f"{size / 1000:.0f} kB"
