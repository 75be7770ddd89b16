"""The commands by name. A command's module is imported when the command is needed."""

from __future__ import annotations

from importlib import import_module

import click

_COMMANDS = {
    "fit": "trimtab.cli.fit:fit_command",
    "convert": "trimtab.cli.convert:convert_command",
    "chat": "trimtab.cli.chat:chat_command",
    "serve": "trimtab.cli.serve:serve_command",
    "audit": "trimtab.cli.audit:audit_command",
    "models": "trimtab.cli.listings:models_command",
    "strategies": "trimtab.cli.listings:strategies_command",
    "plugins": "trimtab.cli.plugins:plugins_command",
    "conform": "trimtab.cli.conform:conform_command",
    "new-plugin": "trimtab.cli.new_plugin:new_plugin_command",
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


EXIT_CODES = """\b
Exit codes:
  0    done
  1    a turn of a chat failed, or a fault of Trimtab itself (TRIMTAB_DEBUG=1 shows where)
  2    bad input or usage
  3    what must stay is over the budget
  4    a plugin breaks a rule of its contract
  130  stopped by Ctrl-C
  141  nobody reads the output any more
"""


@click.group(cls=_LazyGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trimtab", message="trimtab %(version)s")
def root() -> None:
    """Fit a conversation into a model's token budget, and see what happened to every message."""
