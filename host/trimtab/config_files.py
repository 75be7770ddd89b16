"""The configuration from files: the system's, the user's, and one that is named.

Nothing is looked for in the working directory, and no environment variable gives a setting: a project that
somebody else wrote must not decide whom its reader trusts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from trimtab.config import Config
from trimtab.config_reading import read_table
from trimtab.plain_pydantic import no_pydantic_plugins

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_settings import BaseSettings

_FILE = "config.toml"
_Table: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Places:
    """Where a configuration is looked for. All paths are absolute.

    - `system`: this machine's files, the one that goes before the others last.
    - `user`: the user's file, None where there is no home.
    - `plugins`: the plugin directory that is taken when it exists and no file names another.
    """

    system: tuple[Path, ...] = ()
    user: Path | None = None
    plugins: Path | None = None


def usual_places() -> Places:
    """Give the places this platform has for configuration and data.

    Relative folders in XDG_CONFIG_HOME, XDG_CONFIG_DIRS and XDG_DATA_HOME are ignored, as the XDG base directory
    specification asks: they would be the working directory by another name.
    """
    from platformdirs import PlatformDirs

    folders = PlatformDirs("trimtab", appauthor=False, multipath=True)
    # On Windows every user may make the system's folder.
    system = () if sys.platform == "win32" else folders.site_config_dir.split(os.pathsep)
    files = tuple(Path(folder, _FILE) for folder in reversed(system) if Path(folder).is_absolute())
    try:
        user, data = Path(folders.user_config_dir), Path(folders.user_data_dir)
    except RuntimeError:
        return Places(files)
    return Places(
        system=files,
        user=user / _FILE if user.is_absolute() else None,
        plugins=data / "plugins" if data.is_absolute() else None,
    )


def load_config(path: str | os.PathLike[str] | None = None, *, places: Places | None = None) -> Config:
    """Read the system's file, the user's and the one at `path`, and give what they say together.

    Later files go before earlier ones, key by key within tables; what any of them blocks is blocked. The first two
    need not exist. `places` says where they are looked for, by default where this platform has them.

    Raises ConfigError, with file and key, when a file is wrong, is no regular file, or could be written by others.
    """
    places = usual_places() if places is None else places
    usual = (read_table(file) for file in (*places.system, places.user) if file is not None)
    named = None if path is None else read_table(Path(path), required=True)
    tables = [table for table in (*usual, named) if table is not None]
    config = _combined(tables) if len(tables) > 1 else Config(**dict(*tables))
    folder = places.plugins
    if "plugin_directory" in config.model_fields_set or folder is None or not os.path.isdir(folder):
        return config
    return config.model_copy(update={"plugin_directory": folder})


def _combined(tables: Sequence[_Table]) -> Config:
    with no_pydantic_plugins():
        return _through_settings(tables)


def _through_settings(tables: Sequence[_Table]) -> Config:
    from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

    class Table(PydanticBaseSettingsSource):
        def __init__(self, settings: type[BaseSettings], table: _Table) -> None:
            super().__init__(settings)
            self._table = table

        def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[object, str, bool]:
            return self._table.get(field_name), field_name, False

        def __call__(self) -> dict[str, object]:
            return dict(self._table)

    class Files(Config, BaseSettings):
        model_config = SettingsConfigDict(frozen=True, extra="forbid")

        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *others: object, **named_others: object
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            """Take the tables alone: no environment, no .env, no secrets."""
            return tuple(Table(settings_cls, table) for table in (_all_blocked(tables), *reversed(tables)))

    files = Files()
    return Config(**{name: getattr(files, name) for name in files.model_fields_set})


def _all_blocked(tables: Sequence[_Table]) -> _Table:
    lists = [table["blocked"] for table in tables if "blocked" in table]
    names = chain.from_iterable(names for names in lists if isinstance(names, list))
    return {"blocked": list(dict.fromkeys(names))} if lists else {}
