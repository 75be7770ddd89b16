"""Files: reading what is nobody's business, leaving something behind."""

from __future__ import annotations

from functools import partial

from hostile.attack import Attack

_file = partial(Attack, family="files", defence="worker", trusted="lost")


def _attempts(**deeds: str) -> str:
    lines = [f"attempt({name.replace('_', ' ')!r}, lambda: {deed})" for name, deed in deeds.items()]
    return "\n".join(["keep, folder = f\"{FACTS['canary']}/keep\", FACTS['canary']", *lines, "return said()"])


ATTACKS = (
    _file(
        name="a secret of the user",
        does="reads files of the home folder",
        body=_attempts(home="open(f\"{FACTS['home']}/.ssh/id\").read()", canary="open(keep).read()"),
    ),
    _file(
        name="a list of the home folder",
        does="lists the home folder and what is above it",
        body=_attempts(home="os.listdir(FACTS['home'])", root="os.listdir('/')", tmp="os.listdir('/tmp')"),
    ),
    _file(
        name="accounts of the machine",
        does="reads the list of users",
        body=_attempts(
            passwd="len(open('/etc/passwd').read())", users="len(__import__('pwd').getpwall()) or 1 / 0"
        ),
    ),
    _file(
        name="its own environment",
        does="looks for keys in its environment",
        body="""
            attempt('environment', lambda: os.environ['HOSTILE_SUITE_TOKEN'])
            return said()
            """,
    ),
    _file(
        name="the environment of its parent",
        does="reads the environment of the host app from /proc",
        body=_attempts(
            parent="open(f'/proc/{os.getppid()}/environ').read()",
            itself="open('/proc/self/environ').read()",
            processes="os.listdir('/proc')",
        ),
    ),
    _file(
        name="the memory of its parent",
        does="opens the memory of the host app",
        body=_attempts(
            memory="open(f'/proc/{os.getppid()}/mem', 'rb').read(0) or 'open'",
            maps="open(f'/proc/{os.getppid()}/maps').read(100)",
        ),
    ),
    _file(
        name="the folder of another plugin",
        does="reads the code of a plugin that stands beside it",
        trusted="",
        body=_attempts(neighbour="open(f\"{FACTS['plugins']}/trimtab-honest/honest_code.py\").read()"),
    ),
    _file(
        name="descriptors it was born with",
        does="reads and writes whatever was left open by its parent",
        trusted="",
        body="""
            for end in range(3, 64):
                try: os.fstat(end)
                except OSError: continue
                kind = os.readlink(f'/proc/self/fd/{end}') if os.access('/proc/self/fd', os.R_OK) else ''
                if kind and 'pipe' not in kind: SAID.append(f'GOT-IT {end} {kind}')
            SAID.append('tried')
            return said()
            """,
    ),
    _file(
        name="a way out by a link",
        does="reads through a symbolic link that came with it",
        trusted="",
        files={"way_out.txt": "-> @canary@/keep"},
        body="""
            attempt('link', lambda: open(os.path.join(os.path.dirname(__file__), 'way_out.txt')).read())
            return said()
            """,
    ),
    _file(
        name="a way out by dots",
        does="reads through .. from its own folder",
        body="""
            path = os.path.join(os.path.dirname(__file__), '..', '..', 'canary', 'keep')
            attempt('dots', lambda: open(path).read())
            attempt('dots', lambda: open(os.path.join(os.path.dirname(__file__), '..', 'canary', 'keep')).read())
            return said()
            """,
    ),
    _file(
        name="a file left behind",
        does="writes, and makes folders, links and pipes",
        body=_attempts(
            write="open(f'{folder}/left', 'w')",
            folder="os.mkdir(f'{folder}/made')",
            link="os.symlink('/', f'{folder}/link')",
            hard="os.link(keep, f'{folder}/hard')",
            pipe="os.mkfifo(f'{folder}/pipe')",
            work="open(f\"{FACTS['work']}/left\", 'w')",
        ),
    ),
    _file(
        name="a file changed",
        does="overwrites, appends to, cuts, renames and removes a file",
        body=_attempts(
            append="open(keep, 'a').write('x')",
            cut="os.truncate(keep, 3)",
            mode="os.chmod(keep, 0o777)",
            times="os.utime(keep, (0, 0))",
            rename="os.rename(keep, keep + '2')",
            remove="os.unlink(keep + '2')",
        ),
    ),
    _file(
        name="a file mapped",
        does="changes a file through a mapping of its memory",
        head="import mmap",
        body="""
            def deed():
                end = os.open(f"{FACTS['canary']}/keep", os.O_RDWR)
                mmap.mmap(end, 4)[:4] = b'done'
            attempt('mapping', deed)
            return said()
            """,
    ),
    _file(
        name="a note for its next life",
        does="writes into its own folder",
        body="""
            path = os.path.join(os.path.dirname(__file__), 'remembered.py')
            attempt('own folder', lambda: open(path, 'w').write('x = 1'))
            return said()
            """,
    ),
    _file(
        name="a database",
        does="keeps what it read in a database",
        head="import sqlite3",
        body="""
            def deed():
                with sqlite3.connect(f"{FACTS['canary']}/kept.db") as base:
                    base.execute('create table kept (text)')
            attempt('database', deed)
            return said()
            """,
    ),
    _file(
        name="the root of the machine changed",
        does="changes the root folder, the working directory and the mask of files",
        trusted="",
        body=_attempts(
            root="os.chroot(folder)",
            there="os.listdir(os.chdir(folder) or '.')",
        ),
    ),
)
