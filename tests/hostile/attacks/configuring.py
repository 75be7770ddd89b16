"""Configuration from where it must not come: the working directory, the environment, a file of others."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_TRUSTING = 'trusted = ["trimtab-attack"]\n'
_NAMES = (
    *("config.toml", "trimtab.toml", ".trimtab.toml"),
    *("trimtab/config.toml", ".trimtab/config.toml", ".config/trimtab/config.toml"),
)
_configure = partial(
    Attack,
    family="configuration",
    defence="config",
    trusted="",
    play="command",
    installed=True,
    arguments=("--strategy", "attack", "--json"),
    head="""
        try: open(f"{FACTS['canary']}/imported", 'w').close()
        except OSError: pass
        """,
    body="return Edit(notes=['tried'])",
    told='"confined": true',
)

ATTACKS = (
    _configure(
        name="a file beside the conversation",
        does="lies in the working directory under every name that a configuration could have",
        work=dict.fromkeys(_NAMES, _TRUSTING),
    ),
    _configure(
        name="a project",
        does="lies in the working directory as pyproject.toml and setup.cfg",
        work={
            "pyproject.toml": f"[tool.trimtab]\n{_TRUSTING}",
            "setup.cfg": "[trimtab]\ntrusted = trimtab-attack\n",
        },
    ),
    _configure(
        name="a .env file",
        does="lies in the working directory as .env",
        work={".env": 'TRUSTED=["trimtab-attack"]\nTRIMTAB_TRUSTED=["trimtab-attack"]\n'},
    ),
    _configure(
        name="variables of the environment",
        does="is trusted by environment variables",
        env={
            "TRUSTED": '["trimtab-attack"]',
            "TRIMTAB_TRUSTED": '["trimtab-attack"]',
            "TRIMTAB_CONFIG": "@work@/trusting.toml",
        },
        work={"trusting.toml": _TRUSTING},
    ),
    _configure(
        name="a home in the working directory",
        does="makes the working directory the user's folder of configuration by relative paths",
        env={"XDG_CONFIG_HOME": ".", "XDG_CONFIG_DIRS": "./etc:etc"},
        work={"trimtab/config.toml": _TRUSTING, "etc/trimtab/config.toml": _TRUSTING},
    ),
    _configure(
        name="a relative home",
        does="makes the working directory the user's home",
        env={"HOME": "."},
        work={".config/trimtab/config.toml": _TRUSTING},
    ),
    _configure(
        name="plugins in the working directory",
        does="makes the working directory the folder of plugins, where a second strategy lies",
        env={"XDG_DATA_HOME": "."},
        arguments=("--strategy", "planted", "--json"),
        work={
            "trimtab/plugins/planted/planted_code.py": "import os; os._exit(0)\n",
            "trimtab/plugins/planted/trimtab_planted-1.0.dist-info/METADATA": (
                "Metadata-Version: 2.1\nName: trimtab-planted\nVersion: 1.0\n\n"
            ),
            "trimtab/plugins/planted/trimtab_planted-1.0.dist-info/entry_points.txt": (
                "[trimtab.strategies]\nplanted = planted_code\n"
            ),
            "trimtab/plugins/planted/trimtab_planted-1.0.dist-info/RECORD": "planted_code.py,,\n",
        },
        told="no strategy 'planted'",
        ends=True,
    ),
    _configure(
        name="a file that everybody writes",
        does="writes itself into a configuration that others may write to",
        arguments=("--config", "@work@/open.toml", "--strategy", "attack", "--json"),
        work={"open.toml": f"! {_TRUSTING}"},
        told="open.toml",
        ends=True,
    ),
    _configure(
        name="a configuration without end",
        does="puts a device in place of a configuration",
        arguments=("--config", "@work@/device.toml", "--strategy", "attack", "--json"),
        work={"device.toml": "-> /dev/zero"},
        told="device.toml",
        ends=True,
    ),
    _configure(
        name="modules in the working directory",
        does="lies in the working directory under the names of modules that the command imports",
        work={
            f"{name}.py": "import os; os.system('touch @canary@/started')\n"
            for name in ("trimtab", "json", "click", "sitecustomize", "usercustomize", "pluggy")
        },
    ),
)
