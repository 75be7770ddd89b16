"""`trimtab serve` as a process: how it begins, what it says, how it ends."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

COMMAND = [sys.executable, "-m", "trimtab.cli", "serve"]


class Serving:
    """A process that serves, and what it has said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        self.url = ""

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line)
            if "openapi.json" in line:
                self.url = line.rpartition(" ")[2].removesuffix("/openapi.json\n")
                return
        assert self.process.stderr is not None
        raise AssertionError(self.process.stderr.read())

    def stop(self, sign: int = signal.SIGTERM) -> tuple[int, str]:
        """End it by a signal, and give its exit code and its log."""
        self.process.send_signal(sign)
        _, log = self.process.communicate(timeout=30)
        return self.process.returncode, log


@contextmanager
def serving(folder: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> Iterator[Serving]:
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--db", str(folder / "chats.db"), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=_home(folder) | dict(environ or {}),
    )
    try:
        made = Serving(process)
        made.wait_until_ready()
        yield made
    finally:
        process.kill()
        process.communicate()


def refused(folder: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
    """What it says when it does not start; that must be one line."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        env=_home(folder) | dict(environ or {}),
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]


def _home(folder: Path) -> dict[str, str]:
    home = str(folder / "home")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "TRIMTAB"))}
    return kept | {"HOME": home, "USERPROFILE": home, "PYTHONUNBUFFERED": "1"}


def configured(folder: Path, text: str) -> str:
    file = folder / "trimtab.toml"
    file.write_text(text)
    file.chmod(0o600)
    return str(file)


def test_what_it_prints_can_be_tried_and_sigterm_ends_it(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        commands = [line.strip() for line in server.said if line.startswith("curl ")]
        chat = _ask(commands[0])
        turn = _ask(commands[1].replace("CHAT", chat.json()["id"]))
        preview = _ask(commands[2])
        code, log = server.stop()

    assert chat.status_code == 201
    assert "event: turn_completed" in turn.text
    assert preview.json()["messages"] == [{"role": "user", "content": "How many kettles are left?"}]
    assert code == 0
    assert re.search(r"INFO trimtab.http.access: POST /api/v2/chats 201 \d+ ms", log)
    assert "kettles" not in log


def _ask(command: str) -> httpx.Response:
    """Do what a printed curl line does."""
    words = shlex.split(command)
    headers = [word.split(": ") for at, word in enumerate(words) if words[at - 1] == "-H"]
    body = words[words.index("-d") + 1]
    address = next(word for word in words if word.startswith("http://"))
    return httpx.post(address, headers=dict(headers), content=body, timeout=20)


def test_ctrl_c_ends_it_too(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.stop(signal.SIGINT)[0] == 130


def test_it_is_ready_soon(tmp_path: Path) -> None:
    began = time.perf_counter()
    with serving(tmp_path):
        # A second on a machine that does nothing else; tests share theirs.
        assert time.perf_counter() - began < 10


def test_with_a_token_the_printed_lines_name_its_variable(tmp_path: Path) -> None:
    file = configured(tmp_path, '[server]\nhost = "0.0.0.0"\ntokens = { ann = "ANN_TOKEN" }\n')
    with serving(tmp_path, "--config", file, environ={"ANN_TOKEN": "a-token-of-ann-alone"}) as server:
        said = "".join(server.said)
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/api/v2/chats").status_code == 401
        shown = {"Authorization": "Bearer a-token-of-ann-alone"}
        assert httpx.get(f"{url}/api/v2/chats", headers=shown).status_code == 200
        _, log = server.stop()

    assert "Bearer $ANN_TOKEN" in said
    assert "a-token-of-ann-alone" not in said + log


def test_a_turn_that_runs_comes_to_its_end_before_the_process_does(tmp_path: Path) -> None:
    file = configured(
        tmp_path,
        '[providers.slow]\ndriver = "openai-compatible"\nbase_url = "http://127.0.0.1:PORT/v1"\n',
    )
    with _slow_provider() as (port, go_on):
        Path(file).write_text(Path(file).read_text().replace("PORT", str(port)))
        with (
            serving(tmp_path, "--config", file) as server,
            httpx.Client(base_url=server.url, timeout=30) as client,
        ):
            chat = client.post("/api/v2/chats", json={"provider": "slow", "model": "gpt-4o"}).json()
            path = f"/api/v2/chats/{chat['id']}"
            with client.stream("POST", f"{path}/turns", json={"input": "Hello?"}) as stream:
                lines = stream.iter_lines()
                _skip_to(lines, "event: context_ready")
                server.process.send_signal(signal.SIGTERM)
                while httpx.get(f"{server.url}/api/v2/readiness").status_code != 503:
                    pass
                other = httpx.post(f"{server.url}{path}/turns", json={"input": "And now?"})
                go_on.set()
                _skip_to(lines, "event: turn_completed")
            code, _ = server.stop(0)

    assert (other.status_code, other.json()["code"]) == (503, "HOST_STOPPING")
    assert code == 0


def _skip_to(lines: Iterator[str], wanted: str) -> None:
    assert next((line for line in lines if line == wanted), None) is not None


@contextmanager
def _slow_provider() -> Iterator[tuple[int, threading.Event]]:
    """A server of Chat Completions that answers one request, when it is told to."""
    go_on = threading.Event()
    answer = (
        'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":0,'
        '"delta":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

    def answer_one(listening: socket.socket) -> None:
        caller, _ = listening.accept()
        with caller:
            caller.recv(65536)
            go_on.wait(30)
            caller.sendall((head + answer).encode())

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer_one, args=(listening,))
        thread.start()
        try:
            yield listening.getsockname()[1], go_on
        finally:
            go_on.set()
            thread.join(30)


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(tmp_path, "--port", str(port), "--db", str(tmp_path / "chats.db"))

    assert (
        said == f"error [CONFIG_INVALID]: 127.0.0.1:{port} is taken by another program; name another with --port"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "[CONFIG_INVALID]: the server would listen on 0.0.0.0, where others can reach it"),
        (["--host", "no.such.host.invalid"], "[CONFIG_INVALID]: "),
        (["--host", "192.0.2.1"], "[CONFIG_INVALID]: "),
        (["--db", "/proc/nothing/chats.db"], "[STORE_UNAVAILABLE]: "),
        (["--db", "mysql://x"], "[CONFIG_INVALID]: "),
        (["--db", "postgresql://nobody@/none?host=/nowhere"], "[STORE_UNAVAILABLE]: "),
        (["--config", "/no/such/file.toml"], "[CONFIG_INVALID]: /no/such/file.toml: there is no such file"),
        (["--provider", "nobody"], "[UNKNOWN_PROVIDER]: there is no provider 'nobody'"),
        (["--provider", "openai"], "[PROVIDER_KEY_MISSING]: "),
        (["--port", "70000"], "[USAGE]: "),
    ],
    ids=str,
)
def test_what_cannot_start_is_told_in_one_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    usual = ["--port", "0"] + ([] if "--db" in arguments else ["--db", str(tmp_path / "chats.db")])

    assert f"error {said}" in refused(tmp_path, *usual, *arguments, environ={"OPENAI_API_KEY": ""})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[server]\nprot = 1", "server.prot: there is no such key, there are host, port, tokens"),
        ("[server]\nport = 70000", "server.port: "),
        ("[server.gateway]\nprovidr = 1", "server.gateway.providr: there is no such key"),
        ('[server]\ncors_origins = ["*"]', "server.cors_origins: '*' is no origin"),
        ('[server]\ntokens = { ann = "NO_SUCH_TOKEN" }', "set the environment variable NO_SUCH_TOKEN"),
    ],
    ids=str,
)
def test_a_configuration_that_is_wrong_is_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = configured(tmp_path, text)
    told = refused(tmp_path, "--port", "0", "--db", str(tmp_path / "chats.db"), "--config", file)

    assert said in told


def test_a_database_of_something_else_is_told(tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear reader, " * 200)

    assert "[STORE_UNAVAILABLE]" in refused(tmp_path, "--port", "0", "--db", str(file))


def test_without_its_extra_it_names_the_line_that_helps(tmp_path: Path) -> None:
    code = (
        "import sys, importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'fastapi' else find(name, *more)\n"
        "from trimtab.cli import main\n"
        "sys.exit(main(['serve']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=_home(tmp_path), check=False
    )

    assert done.returncode == 2
    assert "pip install 'trimtab[http]'" in done.stderr
