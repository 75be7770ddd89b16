from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trimtab import Config, Interceptor, Limits, load_config
from trimtab.config_files import Places, usual_places
from trimtab.config_reading import MAX_BYTES
from trimtab_sdk import ConfigError

ROOT = Path(__file__).parent.parent
NOWHERE = Places()


def written(folder: Path, text: str | bytes, name: str = "config.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(0o644)
    return path


def problem(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(path, places=NOWHERE)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def test_without_any_file_the_config_is_the_plain_one(tmp_path: Path) -> None:
    assert load_config(places=NOWHERE) == Config()
    missing = Places((tmp_path / "no" / "config.toml",), tmp_path / "none.toml", tmp_path / "plugins")
    assert load_config(places=missing) == Config()


def test_every_field_can_be_written_as_it_is_called_in_python(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        trusted = ["trimtab-recap>=1,<2"]
        blocked = ["trimtab-evil"]
        interceptors = ["redact", {name = "date", settings = {zone = "UTC"}}]
        may_redact_protected = ["redact"]
        on_violation = "error"
        plugins = false
        plugin_directory = "/srv/plugins"
        untrusted = "refuse"
        strict = true
        workers = 2

        [limits.recap]
        seconds = 1.5

        [grants.recap]
        meta = ["lang"]

        [models.my-model]
        context_limit = 32768

        [providers.local]
        base_url = "http://127.0.0.1:8000/v1"

        [server]
        port = 9000
        tokens = {ann = "ANN_TOKEN"}
        """,
    )

    config = load_config(path, places=NOWHERE)

    assert config == Config(
        trusted=["trimtab-recap>=1,<2"],
        blocked=["trimtab-evil"],
        interceptors=["redact", {"name": "date", "settings": {"zone": "UTC"}}],
        may_redact_protected=["redact"],
        on_violation="error",
        plugins=False,
        plugin_directory=Path("/srv/plugins"),
        untrusted="refuse",
        strict=True,
        workers=2,
        limits={"recap": {"seconds": 1.5}},
        grants={"recap": {"meta": ["lang"]}},
        models={"my-model": {"context_limit": 32768}},
        providers={"local": {"base_url": "http://127.0.0.1:8000/v1"}},
        server={"port": 9000, "tokens": {"ann": "ANN_TOKEN"}},
    )
    assert set(Config.model_fields) == config.model_fields_set


def test_the_user_goes_before_the_system_and_the_named_file_before_both(tmp_path: Path) -> None:
    places = Places(
        (written(tmp_path, "workers = 1\nstrict = true\ntrusted = ['a']", "system.toml"),),
        written(tmp_path, "workers = 2\ntrusted = ['b']", "user.toml"),
    )
    named = written(tmp_path, "workers = 3", "named.toml")

    assert load_config(places=places) == Config(workers=2, strict=True, trusted=["b"])
    assert load_config(named, places=places) == Config(workers=3, strict=True, trusted=["b"])


def test_tables_merge_key_by_key_and_lists_replace(tmp_path: Path) -> None:
    places = Places(
        (written(tmp_path, "[limits.'*']\nseconds = 3\nmemory_mb = 256\n[limits.a]\nseconds = 1", "system.toml"),),
        written(tmp_path, "[limits.'*']\nseconds = 5\n[grants.a]\nmeta = ['x']", "user.toml"),
    )
    named = written(tmp_path, "interceptors = ['b']\n[grants.a]\nmeta = ['y']", "named.toml")

    config = load_config(named, places=places)

    assert config.limits == {"*": Limits(seconds=5, memory_mb=256), "a": Limits(seconds=1)}
    assert config.grants["a"].meta == ("y",)
    assert config.interceptors == (Interceptor(name="b"),)


def test_what_the_system_blocks_stays_blocked_whatever_the_user_writes(tmp_path: Path) -> None:
    places = Places(
        (written(tmp_path, "blocked = ['evil']", "system.toml"),),
        written(tmp_path, "blocked = ['bad', 'evil']", "user.toml"),
    )
    named = written(tmp_path, "blocked = []", "named.toml")

    assert load_config(named, places=places).blocked == ("evil", "bad")


def test_a_relative_plugin_directory_starts_at_the_folder_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "settings", "plugin_directory = 'plugins'")
    monkeypatch.chdir(tmp_path)

    assert load_config("settings/config.toml", places=NOWHERE).plugin_directory == path.parent / "plugins"


def test_a_tilde_is_the_home_and_a_home_that_is_relative_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "plugin_directory = '~/plugins'")

    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_config(path, places=NOWHERE).plugin_directory == tmp_path / "plugins"
    monkeypatch.setenv("HOME", ".")
    assert "plugin_directory: '~/plugins' names no folder" in problem(path)


def test_the_usual_plugin_directory_is_taken_when_it_exists_and_no_file_names_another(tmp_path: Path) -> None:
    folder = tmp_path / "plugins"
    assert load_config(places=Places(plugins=folder)).plugin_directory is None
    folder.mkdir()
    assert load_config(places=Places(plugins=folder)) == Config(plugin_directory=folder)
    path = written(tmp_path, "plugin_directory = '/elsewhere'")
    assert load_config(path, places=Places(plugins=folder)).plugin_directory == Path("/elsewhere")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("workers = 2\nstrict = yes", "this is no TOML: "),
        ("workers = 2\nstrict = yes", "line 2"),
        ("trust = ['x']", "trust: there is no such key, there are trusted, blocked,"),
        ("[limits.x]\nsecs = 1", "limits.x.secs: there is no such key, there are seconds, turn_seconds,"),
        ("trusted = 'x'", "trusted: Input should be a valid tuple"),
        ("untrusted = 'run'", "untrusted: Input should be 'confine' or 'refuse'"),
        ("plugin_directory = ''", "plugin_directory: '' names no folder"),
        ("plugin_directory = 5", "plugin_directory: Input"),
        ("[models.x]\ncontext_limt = 5", "models['x']"),
        ("interceptors = [{name = 'x', settings = {at = 2026-01-02}}]", "interceptors.0.settings.at: dates,"),
        ("interceptors = [{name = 'x', settings = {at = nan}}]", "interceptors.0.settings.at: dates,"),
        ("models." + "a." * 5000 + "a = 1", "nested deeper than 32 levels"),
        ("a = " + "[" * 20000, "this is no TOML: "),
        ("workers = " + "9" * 5000, "this is no TOML: "),
        (b"# caf\xe9\n", "line 1 is not UTF-8; save it as UTF-8"),
        (b"#" * (MAX_BYTES + 1), "it has more than 1,048,576 bytes"),
    ],
)
def test_a_wrong_file_is_told_by_name_with_the_key_or_the_line(
    tmp_path: Path, text: str | bytes, told: str
) -> None:
    assert told in problem(written(tmp_path, text))


def test_a_fault_in_the_system_s_file_is_told_as_well(tmp_path: Path) -> None:
    system = written(tmp_path, "trust = []", "system.toml")

    with pytest.raises(ConfigError, match=re.escape(str(system))):
        load_config(places=Places((system,)))


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    assert load_config(written(tmp_path, b"\xef\xbb\xbfworkers = 2"), places=NOWHERE).workers == 2


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    assert "there is no such file" in problem(tmp_path / "none.toml")
    assert "there is no such file" in problem(written(tmp_path, "") / "below-a-file.toml")


def test_a_link_to_nothing_is_an_error_also_for_the_user_s_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(tmp_path / "gone.toml")

    with pytest.raises(ConfigError, match="there is no such file"):
        load_config(places=Places(user=tmp_path / "config.toml"))


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "config.toml").symlink_to(written(tmp_path, "workers = 2", "dotfiles.toml"))

    assert load_config(places=Places(user=tmp_path / "config.toml")).workers == 2


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_may_write_to_is_refused_with_the_line_that_mends_it(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path, "workers = 2")
    path.chmod(mode)

    line = problem(path).partition("run: ")[2]
    subprocess.run(line, shell=True, check=True)

    assert load_config(path, places=NOWHERE).workers == 2


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "workers = 2")
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)

    assert "it belongs to another user" in problem(path)


def test_a_pipe_a_device_and_a_directory_are_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)

    assert "it is no regular file" in problem(pipe)
    assert "it is no regular file" in problem(Path("/dev/zero"))
    assert "it is a directory" in problem(tmp_path)


def test_a_path_that_no_file_can_have_is_an_error() -> None:
    with pytest.raises(ConfigError, match="cannot be read: embedded null byte"):
        load_config("a\0b", places=NOWHERE)
    with pytest.raises(ConfigError, match="cannot be read: File name too long"):
        load_config("a" * 5000, places=NOWHERE)


def test_relative_xdg_folders_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, ".")
    monkeypatch.chdir(tmp_path)

    places = usual_places()

    assert all(path.is_absolute() for path in (*places.system, places.user, places.plugins) if path is not None)
    assert not any(path is not None and path.is_relative_to(tmp_path) for path in (*places.system, places.user))


def test_of_several_system_folders_the_first_goes_before_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_DIRS", f"{tmp_path}/one:relative:{tmp_path}/two")
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{tmp_path}/home")
    written(tmp_path / "one" / "trimtab", "workers = 1")
    written(tmp_path / "two" / "trimtab", "workers = 2\nstrict = true")

    assert load_config().workers == 1
    assert load_config().strict


def test_what_a_foreign_project_holds_changes_nothing(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    home.mkdir()
    hostile = "trusted = ['evil']\nplugin_directory = '.'\nworkers = 9\n"
    for name in (
        "trimtab.toml",
        "config.toml",
        ".trimtab.toml",
        "trimtab/config.toml",
        ".config/trimtab/config.toml",
    ):
        written(project, hostile, name)
    written(project, f"[tool.trimtab]\n{hostile}", "pyproject.toml")
    for name in (".env", "trimtab.env"):
        written(project, "TRUSTED='[\"evil\"]'\nTRIMTAB_TRUSTED='[\"evil\"]'\nWORKERS=9\n", name)
    settings = {"WORKERS": "9", "TRIMTAB_WORKERS": "9", "TRUSTED": '["evil"]', "TRIMTAB_TRUSTED": '["evil"]'}
    relative = {"XDG_CONFIG_HOME": ".", "XDG_CONFIG_DIRS": ".:", "XDG_DATA_HOME": "", "HOME": str(home)}
    code = "from trimtab import Config, load_config; assert load_config() == Config(), load_config()"

    # With two files of one's own, the settings sources are in play.
    own = written(home / ".config" / "trimtab", "strict = true")
    with_files = (
        f"from trimtab import Config, load_config; assert load_config({str(own)!r}) == Config(strict=True)"
    )
    for script, variables in ((code, {"HOME": str(tmp_path / "empty")}), (with_files, {})):
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=project,
            env={**os.environ, **settings, **relative, **variables},
            check=True,
        )


def test_the_library_reads_no_file_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    written(tmp_path / "trimtab", "workers = 9")

    assert Config().workers == 4
    assert load_config().workers == 9


def test_every_key_stands_on_the_page() -> None:
    page = (ROOT / "docs/configuration.md").read_text()

    keys = {*Config.model_fields, *Limits.model_fields, "meta", "services", "name", "settings"}
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def test_the_file_on_the_page_is_taken_as_it_is_printed(tmp_path: Path) -> None:
    page = (ROOT / "docs/configuration.md").read_text()
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert example is not None

    config = load_config(written(tmp_path, example[1]), places=NOWHERE)

    assert config.model_fields_set == set(Config.model_fields)
