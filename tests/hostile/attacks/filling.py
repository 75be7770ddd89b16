"""Memory, descriptors, processes and disks, as much as there is."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_fill = partial(Attack, family="resources", defence="worker", trusted="lost", memory_mb=256, seconds=10)

ATTACKS = (
    _fill(
        name="a gigabyte",
        does="takes one gigabyte of memory and writes to it",
        body="attempt('memory', lambda: len(b'x' * (1 << 30)))\nreturn said()",
        told="^note tried memory: MemoryError",
    ),
    _fill(
        name="a gigabyte in small pieces",
        does="takes memory bit by bit",
        body="attempt('memory', lambda: len([bytes(1 << 20) + b'x' for _ in range(1024)]))\nreturn said()",
        told="^(note tried memory: MemoryError|PLUGIN_CRASHED)",
    ),
    _fill(
        name="memory behind Python's back",
        does="maps a gigabyte and touches every page",
        head="import mmap",
        body="""
            def deed():
                area = mmap.mmap(-1, 1 << 30)
                for at in range(0, 1 << 30, 4096): area[at] = 1
            attempt('memory', deed)
            return said()
            """,
        told="^note tried memory: OSError",
    ),
    _fill(
        name="a file in memory",
        does="makes a file that no limit on memory sees",
        body="attempt('memfd', lambda: os.write(os.memfd_create('x'), bytes(1000)))\nreturn said()",
        told="^note tried memfd",
    ),
    _fill(
        name="memory of the whole machine",
        does="makes a piece of shared memory that outlives it",
        body="""
            path = f"/dev/shm/{FACTS['abstract']}"
            attempt('shared memory', lambda: open(path, 'wb').write(bytes(1000)))
            return said()
            """,
        told="^note tried shared memory",
    ),
    _fill(
        name="shared memory of the old kind",
        does="makes a segment by shmget",
        head="def remove(segment): return segment, ctypes.CDLL(None).shmctl(segment, 0, None)",
        body="attempt('shmget', lambda: remove(system(29, 0, 4096, 0o1600)))\nreturn said()",
        told="^note tried shmget",
    ),
    _fill(
        name="every descriptor",
        does="opens files until there is no descriptor left",
        body="attempt('descriptors', lambda: len([os.open('/dev/null', 0) for _ in range(500)]))\nreturn said()",
        told="^note tried descriptors",
    ),
    _fill(
        name="forks",
        does="starts copies of its process that stay",
        body="""
            for _ in range(10):
                attempt('fork', lambda: os.fork() or (time.sleep(60), os._exit(0)))
            return said()
            """,
        told="^note tried fork",
    ),
    _fill(
        name="threads",
        does="starts threads that stay",
        body="""
            def start():
                for _ in range(20): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
                return threading.active_count()
            attempt('threads', start)
            return said()
            """,
        told="^note tried threads",
    ),
    _fill(
        name="a program",
        does="starts a program that outlives the host app",
        head="import subprocess",
        body="""
            attempt('program', lambda: subprocess.Popen(['/bin/sleep', '60'], start_new_session=True).pid)
            return said()
            """,
        told="^note tried program",
    ),
    _fill(
        name="a full disk",
        does="writes as much as it can, wherever it can",
        head="import tempfile",
        body="""
            for place in (FACTS['tmp'], FACTS['work'], '/dev/shm', '/tmp'):
                path = f"{place}/{FACTS['abstract']}"
                attempt(f'to fill {place}', lambda: open(path, 'wb').write(bytes(10_000_000)))
                if place == '/tmp' and os.path.exists(path): os.unlink(path)
            return said()
            """,
        told="^note tried to fill",
    ),
    _fill(
        name="greedy scheduling",
        does="puts itself before all other processes",
        body="""
            attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + 1))
            attempt('scheduler', lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)))
            attempt('processors', lambda: os.sched_setaffinity(0, [0]))
            return said()
            """,
        told="^note tried priority",
    ),
    _fill(
        name="its own limits raised",
        does="raises the limits that were set for it",
        head="import resource",
        body="""
            for name in ('AS', 'NOFILE', 'FSIZE'):
                number = getattr(resource, f'RLIMIT_{name}')
                hard = resource.getrlimit(number)[1]
                attempt(name, lambda: resource.setrlimit(number, (hard, hard)))
            return said()
            """,
        told="^note tried AS",
    ),
)
