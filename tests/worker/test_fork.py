"""A host app that forks: the child has workers of its own, and the parent keeps its."""

from __future__ import annotations

from worker.confined_plugins import run_host, told

FORKS = """
    import json, os, sys, tempfile, threading, warnings
    from pathlib import Path
    from trimtab.loading.worker.pool import worker_pool
    from worker.confined_plugins import call, next_pid, plugin, settle
    # From 3.12 on Python warns of every fork beside threads.
    warnings.simplefilter("ignore", DeprecationWarning)
    spec = plugin(
        Path(tempfile.mkdtemp()),
        "seen.append(1); return Edit(notes=[str(os.getpid()), str(len(seen))])",
        head="import os\\nseen = []",
    )
    pool = worker_pool()
    first = call(pool, spec, scope="a").edit.notes
    next_pid(pool)

    def child(end):
        notes = [call(pool, spec, scope="a").edit.notes for _ in range(2)]
        settle(pool)
        os.write(end, json.dumps({"notes": notes, "size": pool.size}).encode())

    def forked(work):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            work(writing)
            ENDING
        os.close(writing)
        with open(reading) as told:
            text = told.read()
        return text, os.waitpid(pid, 0)[1]
"""


def test_a_forked_child_gets_workers_of_its_own_and_the_parents_go_on() -> None:
    for ending in ("os._exit(0)", "sys.exit(0)"):
        done = run_host(
            FORKS.replace("ENDING", ending)
            + """
    text, status = forked(child)
    again = call(pool, spec, scope="a").edit.notes
    print(json.dumps({"first": first, "child": json.loads(text), "again": again, "status": status}))
    """
        )

        answer = told(done)
        first, again, child = answer["first"], answer["again"], answer["child"]
        assert isinstance(first, list)
        assert isinstance(child, dict)
        assert again == [first[0], "2"]
        assert [seen for _, seen in child["notes"]] == ["1", "2"]
        assert child["notes"][0][0] == child["notes"][1][0] != first[0]
        assert child["size"] == 1
        assert answer["status"] == 0
        assert done.stderr == ""


def test_a_fork_while_another_thread_is_served_hurts_neither() -> None:
    done = run_host(
        FORKS.replace("ENDING", "os._exit(0)")
        + """
    results = []
    threads = [
        threading.Thread(target=lambda at=at: results.extend(call(pool, spec, scope=str(at)).edit.notes[1:]))
        for at in range(8)
    ]
    for thread in threads:
        thread.start()
    texts = [forked(child)[0] for _ in range(4)]
    for thread in threads:
        thread.join()
    print(json.dumps({"results": results, "children": [json.loads(text)["notes"][1][1] for text in texts]}))
    """
    )

    assert told(done) == {"results": ["1"] * 8, "children": ["2"] * 4}
    assert done.stderr == ""


def test_a_forked_child_holds_no_pipe_of_the_parents_workers() -> None:
    done = run_host(
        FORKS.replace("ENDING", "os._exit(0)")
        + """
    def files(end):
        os.write(end, str(len(os.listdir("/proc/self/fd"))).encode())

    before = len(os.listdir("/proc/self/fd"))
    pipes = 3 * len(pool._spawner.living)
    print(json.dumps({"pipes": pipes, "fewer": before + 1 - int(forked(files)[0])}))
    """
    )

    assert told(done) == {"pipes": 6, "fewer": 6}
