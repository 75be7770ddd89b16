from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fakes.chat_server import ChatServer
from fakes.interactions_server import InteractionsServer
from fakes.responses_server import ResponsesServer
from trimtab.continuation.notices import SENTENCES

APP = Path(__file__).parents[2] / "examples/host-app/app.py"


def ask(store: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(APP), "--store", str(store), *args], capture_output=True, text=True, check=False
    )


def test_the_host_app_runs_without_a_network_and_goes_on_at_the_next_start(tmp_path: Path) -> None:
    first = ask(tmp_path / "shop.db", "How many kettles are left?")
    second = ask(tmp_path / "shop.db", "And when do more come?")

    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("[stock: 7]\n[next_delivery: 2031-05-06]\nDry run")
    assert "“And when do more come?”" in second.stdout
    assert "2 user" in second.stdout


def test_the_host_app_runs_its_tools_for_a_server(tmp_path: Path) -> None:
    with ChatServer() as server:
        server.call(("stock", {"article": "pot"}), ("stock", {"article": "spoon"}))
        server.say("No pots, and we never had spoons.")
        ended = ask(tmp_path / "shop.db", "--base-url", server.base_url, "Pots? Spoons?")

        assert ended.returncode == 0
        assert "[stock: 0]" in ended.stdout
        assert "No pots, and we never had spoons." in ended.stdout
        results = [one["content"] for one in server.requests[1].messages if one["role"] == "tool"]
        assert results[0] == "0"
        assert "kettle, pot, whisk" in results[1]
        assert server.faults == []


def test_the_host_app_tells_why_there_is_no_answer(tmp_path: Path) -> None:
    with ChatServer() as server:
        server.refuse("auth")
        ended = ask(tmp_path / "shop.db", "--base-url", server.base_url, "Pots?")

    assert ended.returncode == 1
    assert "[PROVIDER_AUTHENTICATION]" in ended.stdout


def test_the_host_app_goes_on_by_a_cursor_and_from_one_provider_to_another(tmp_path: Path) -> None:
    store = tmp_path / "shop.db"
    with ResponsesServer() as openai, InteractionsServer() as gemini:
        with_openai = ("--provider", "openai", "--base-url", openai.base_url)
        with_gemini = ("--provider", "gemini", "--base-url", gemini.base_url)
        openai.call(("stock", {"article": "pot"}))
        openai.say("No pots.")
        openai.say("And no lids.")
        gemini.say("Seven.")
        gemini.say("Quite sure.")
        first, second, third, fourth = (
            ask(store, *with_openai, "Any pots left?"),
            ask(store, *with_openai, "And lids?"),
            ask(store, *with_gemini, "How many kettles?"),
            ask(store, *with_gemini, "Sure?"),
        )

        assert first.stdout.startswith("[stock: 0]\nNo pots.\n["), first.stderr
        assert second.stdout.startswith("And no lids.\n[")
        assert third.stdout.splitlines()[:2] == [f"[{SENTENCES['provider_changed']}]", "Seven."]
        assert fourth.stdout.startswith("Quite sure.\n[")
        assert [len(request.input) for request in openai.requests] == [1, 1, 1]
        assert [len(request.input) for request in gemini.requests] == [8, 1]
        assert "Any pots left?" in gemini.view(2).text
        assert (openai.faults, gemini.faults) == ([], [])
