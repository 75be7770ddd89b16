"""The level of the contract between host and plugins."""

from __future__ import annotations

API_LEVEL = 1
"""Rises when something a plugin could rely on is taken away; what is only added leaves it as it is."""
