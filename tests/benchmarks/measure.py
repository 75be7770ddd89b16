"""Print what the start and a large fit cost, each beside its yardstick, measured in one run.

    python tests/benchmarks/measure.py
    python tests/benchmarks/measure.py --large     # and a file of 100 MB through the command line

Start-up stands beside a bare Python, a cold fit beside one `encode_ordinary` pass of tiktoken over the same texts.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

RUNS = 9
MESSAGES = 10_000
LINE = "The quay clerk wrote down crate {n}, its mark, its owner and the hour it was weighed at the gate. "


def median_seconds(command: list[str]) -> float:
    """Run a command several times and give the median of its wall time."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def conversation() -> list[dict[str, object]]:
    """Ten thousand messages of over 500 bytes, no two alike."""
    texts = ("".join(LINE.format(n=at * 7 + line) for line in range(6)) for at in range(MESSAGES))
    chat: list[dict[str, object]] = [{"role": "system", "content": "Be brief."}]
    chat += [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    return [*chat, {"role": "user", "content": "And now?"}]


def large(strategy: str) -> None:
    """Fit a file of 100 MB through the command line and print its time and the most memory any child took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.json")
        path.write_text(json.dumps([one for _ in range(17) for one in conversation()]))
        command = [sys.executable, "-m", "trimtab.cli", "fit", str(path), "--model", "gpt-4.1", "--json"]
        start = time.perf_counter()
        subprocess.run([*command, "--strategy", strategy], check=True, capture_output=True)
        took = time.perf_counter() - start
        size = path.stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    print(f"{size:.0f} MB, {strategy:14}   {took:5.1f} s    {peak:.0f} MB at most so far (figure: 1000)")


def main() -> None:
    """Print the table."""
    if "--large" in sys.argv[1:]:
        for strategy in ("truncate", "vector-recall", "summarize"):
            large(strategy)
    bare = median_seconds([sys.executable, "-c", "pass"])
    imported = median_seconds([sys.executable, "-c", "import trimtab"])
    helped = median_seconds([str(Path(sys.executable).with_name("trimtab")), "--help"])
    print(f"bare Python             {bare * 1000:7.0f} ms")
    print(f"import trimtab          {imported * 1000:7.0f} ms   {(imported - bare) * 1000:+.0f} ms (figure: +60)")
    print(f"trimtab --help          {helped * 1000:7.0f} ms   (figure: 150)")

    import judge
    import trimtab

    chat = conversation()
    texts = [str(message["content"]) for message in chat]
    encoding = judge.encoding("o200k_base")
    trimtab.fit(chat[:2], model="gpt-4.1")
    cold = seconds(lambda: trimtab.fit(chat, model="gpt-4.1", context_limit=200_000))
    again = min(seconds(lambda: trimtab.fit(chat, model="gpt-4.1", context_limit=200_000)) for _ in range(5))
    encode = min(seconds(lambda: [encoding.encode_ordinary(text) for text in texts]) for _ in range(3))
    print(f"one encode_ordinary     {encode * 1000:7.0f} ms   {sum(map(len, texts)) / 1e6:.1f} MB")
    print(f"cold fit of {MESSAGES:,}      {cold * 1000:7.0f} ms   {cold / encode:.2f} of the pass (figure: 1.4)")
    print(f"the same fit again      {again * 1000:7.0f} ms   (figure: 60)")


if __name__ == "__main__":
    main()
