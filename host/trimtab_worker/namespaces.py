"""Namespaces of the worker's own: no network to reach, no shared memory of others, no name of the host."""

from __future__ import annotations

from trimtab_worker.linux import call

# clone(2)
_FLAGS = {"user": 0x1000_0000, "net": 0x4000_0000, "ipc": 0x0800_0000, "uts": 0x0400_0000, "cgroup": 0x0200_0000}
# Without a user namespace the others need privileges.
_CHOICES = (
    ("user", "net", "ipc", "uts", "cgroup"),
    ("user", "net", "ipc", "uts"),
    ("net", "ipc", "uts", "cgroup"),
    ("net", "ipc", "uts"),
    ("net", "ipc"),
)
_NAME = b"worker"


def enter() -> str:
    """Enter as many new namespaces as the platform allows, the network's always among them, and name them.

    The process must have one thread. Raises OSError with the first refusal when there is no network namespace.
    """
    refusals: list[OSError] = []
    for choice in _CHOICES:
        try:
            call("unshare", sum(_FLAGS[part] for part in choice))
        except OSError as error:
            refusals.append(error)
        else:
            return "; ".join([" ".join(choice), *_missing(choice, refusals), *_hide_name(choice)])
    raise refusals[0]


def _missing(choice: tuple[str, ...], refusals: list[OSError]) -> list[str]:
    missing = [part for part in _FLAGS if part not in choice]
    return [f"without {' '.join(missing)}: {refusals[0].strerror}"] if missing else []


def _hide_name(choice: tuple[str, ...]) -> list[str]:
    if "uts" not in choice:
        return []
    try:
        call("sethostname", _NAME, len(_NAME))
    except OSError as error:
        return [f"the host's name stays: {error.strerror}"]
    return []
