"""The places that Python itself reads from while a plugin is imported and runs."""

from __future__ import annotations

import os
import sys

_LIBRARIES = (
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
)
_STORES = ("/nix/store", "/gnu/store")
_LOADER = ("/etc/ld.so.cache", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path")
_DEVICES = ("/dev/null", "/dev/urandom")
_CLOCK = ("/usr/share/zoneinfo", "/etc/localtime")


def own_places() -> list[str]:
    """The standard library, shared libraries, two devices and the time zones; some may not exist."""
    return list(dict.fromkeys([*_standard_library(), *_LIBRARIES, *_STORES, *_LOADER, *_DEVICES, *_CLOCK]))


def _standard_library() -> list[str]:
    folders = [os.path.dirname(os.__file__)]
    for prefix in (sys.base_prefix, sys.base_exec_prefix):
        folders += [os.path.join(prefix, "lib"), os.path.join(prefix, "lib64")]
    return folders
