"""The contracts of the broken plugins, collected by the pytest of a child process."""

from __future__ import annotations

from conformance.broken_plugins import BROKEN, contract_of

globals().update({f"Test{name}": contract_of(name, broken) for name, broken in BROKEN.items()})
