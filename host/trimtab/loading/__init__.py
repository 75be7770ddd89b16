"""Finding, vetting and loading plugins."""

from trimtab.loading.discovery import Installed, installed

__all__ = ["Installed", "installed"]
