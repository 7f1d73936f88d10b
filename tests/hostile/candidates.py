"""Candidates from hell, as data: what each does to its process, to its neighbours and to the messages about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """A script, and what a process of its own shows of it."""

    source: str
    exit: int = 0
    """Its exit status; below 0: minus the signal that ends it."""
    failure: str = ""
    """Type of the exception that leaves it, where there is one."""
    unknown: bool = False
    """Whether nothing need be known of it: it broke what reports on it."""
    adopted: bool = False
    """Whether it waits in a lane for what it would not wait for elsewhere: there its daemons are its own children."""
    hangs: bool = False
    """Whether it goes on until its time is over."""
    stdout: str | None = None
    """What it prints, where that is one thing only."""
    refused: str = ""
    """The part of the fence that it runs into, where that holds."""


IDLE = "time.sleep(600)"
FORK = f"import os, sys, time, signal\nif os.fork() == 0:\n    {IDLE}\n"
"""The child sleeps on, in the candidate's group."""
DAEMON = (
    "import os, sys, time, signal\nif os.fork() == 0:\n    os.setsid()\n"
    f"    if os.fork() == 0: {IDLE}\n    os._exit(0)\n"
)
"""As daemons begin: out of the group, and without a parent."""
POPEN = "import subprocess, sys, os, time\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\n"
LINK = (
    "import os, stat, struct, sys, time\n"
    "def sockets():\n"
    "    for fd in range(3, 256):\n"
    "        try:\n"
    "            if stat.S_ISSOCK(os.fstat(fd).st_mode): yield fd\n"
    "        except OSError: pass\n"
    "def say(data):\n"
    "    for fd in sockets(): os.write(fd, data)\n"
)
"""Finds the sockets on which its own process answers."""
REPORT = '{"exit": 0, "failure": null, "over": ""}'

FORKS = {
    "a child comes back into the loop": Candidate("import os\nif os.fork():\n    os.wait()\n"),
    "a child comes back, its parent is gone first": Candidate("import os\nos.fork()\n"),
    "ten children come back": Candidate("import os\nfor _ in range(10):\n    if os.fork() == 0: break\n"),
    "children of children come back": Candidate("import os\nfor _ in range(4): os.fork()\n"),
    "a child comes back with an exception": Candidate(
        "import os\nif os.fork() == 0: raise ValueError('child')\nprint(os.waitstatus_to_exitcode(os.wait()[1]))",
        stdout="1\n",
    ),
    "a child comes back with a status": Candidate(
        "import os, sys\nif os.fork() == 0: sys.exit(7)\nprint(os.waitstatus_to_exitcode(os.wait()[1]))", stdout="7\n"
    ),
    "a child comes back and the parent fails": Candidate(
        "import os\nif os.fork(): os.wait(); 1 / 0\n", exit=1, failure="ZeroDivisionError"
    ),
    "the parent exits at once and the child comes back": Candidate("import os\nif os.fork(): os._exit(5)\n", exit=5),
    "a child comes back where getpid is another": Candidate(
        "import os\npid = os.getpid()\nos.getpid = lambda: pid\nif os.fork(): os.wait()\n"
    ),
    "a fork in C comes back": Candidate("import ctypes, os\nif ctypes.CDLL(None).fork(): os.wait()\n"),
    "a fork in a thread": Candidate(
        "import os, threading\nt = threading.Thread(target=os.fork)\nt.start(); t.join()\nos.wait()\n"
    ),
    "a fork at exit": Candidate("import atexit, os\natexit.register(os.fork)\n"),
    "a child is stopped": Candidate(f"{FORK}import signal\nos.kill(os.getpid(), 0)\n"),
    "a child that ignores signals": Candidate(
        FORK.replace("    time", "    signal.signal(15, signal.SIG_IGN)\n    time")
    ),
    "children that are waited for": Candidate(
        "import subprocess\nfor _ in range(3): print(subprocess.run(['true']).returncode)\n", stdout="0\n0\n0\n"
    ),
    "a child that is not waited for, SIGCHLD ignored": Candidate(
        f"import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n{FORK}"
    ),
    "multiprocessing, joined": Candidate(
        "import multiprocessing as m\np = m.get_context('fork').Process(target=print, args=('child',))\n"
        "p.start(); p.join(); print(p.exitcode)\n",
        stdout="child\n0\n",
    ),
    "multiprocessing, a daemon": Candidate(
        "import multiprocessing as m, time\n"
        "m.get_context('fork').Process(target=time.sleep, args=(600,), daemon=True).start()\n"
    ),
    "multiprocessing, a manager": Candidate(
        "import multiprocessing as m\nc = m.get_context('fork').Manager().dict()\nc['a'] = 1\nprint(c['a'])\n",
        stdout="1\n",
    ),
    "multiprocessing, a pool": Candidate(
        "import multiprocessing as m\npool = m.get_context('fork').Pool(2)\nprint(pool.map(abs, [-1, -2]))\n",
        stdout="[1, 2]\n",
    ),
    "a pool of futures": Candidate(
        "import concurrent.futures as f, multiprocessing as m\n"
        "print(f.ProcessPoolExecutor(1, m.get_context('fork')).submit(abs, -1).result())\n",
        stdout="1\n",
    ),
    "an interpreter of its own": Candidate(
        "import subprocess as s, sys\nprint(s.run([sys.executable, '-c', '1/0'], stderr=s.DEVNULL).returncode)\n",
        stdout="1\n",
    ),
}
"""Processes that the candidate starts, and that stay near it."""

DAEMONS = {
    "setsid": Candidate(FORK.replace("    time", "    os.setsid(); time")),
    "a double fork": Candidate(f"{DAEMON}os.wait()\n"),
    "a double fork that nobody waits for": Candidate(DAEMON),
    "a double fork, and a failure": Candidate(f"{DAEMON}1 / 0\n", exit=1, failure="ZeroDivisionError"),
    "a double fork, and _exit": Candidate(f"{DAEMON}os._exit(3)\n", exit=3),
    "a double fork, and a signal": Candidate(f"{DAEMON}os.kill(os.getpid(), signal.SIGSEGV)\n", exit=-11),
    "a double fork, and abort": Candidate(f"{DAEMON}os.abort()\n", exit=-6),
    "a double fork, and no end": Candidate(f"{DAEMON}while True: time.sleep(1)\n", hangs=True),
    "a program of its own session": Candidate(POPEN),
    "a program of its own session, and no end": Candidate(f"{POPEN}while True: time.sleep(1)\n", hangs=True),
    "a program of its own session, and _exit": Candidate(f"{POPEN}os._exit(4)\n", exit=4),
    "a shell's background": Candidate("import os\nos.system('setsid sleep 600 & nohup sleep 600 >/dev/null 2>&1 &')\n"),
    "a chain of ten": Candidate(
        f"import os, time\nfor _ in range(10):\n    if os.fork(): break\n    os.setsid()\nelse: {IDLE}\n"
    ),
    "a daemon that starts itself again": Candidate(
        "import os, time\nif os.fork() == 0:\n"
        "    while True:\n        time.sleep(0.01)\n        if os.fork(): os._exit(0)\n"
    ),
    "a hundred daemons": Candidate(
        f"import os, time\nfor _ in range(100):\n    if os.fork() == 0:\n        os.setsid()\n        {IDLE}\n"
    ),
    "a daemon without any file": Candidate(FORK.replace("    time", "    os.setsid(); os.closerange(0, 256); time")),
    "a daemon that is stopped": Candidate(FORK.replace("    time", "    os.setsid(); os.kill(os.getpid(), 19); time")),
    "a daemon that holds stdout": Candidate(f"{FORK}print('said', flush=True)\n", stdout="said\n"),
    "a daemon that floods stdout": Candidate(
        "import os\nif os.fork() == 0:\n    os.setsid()\n    while True: os.write(1, b'x' * 65536)\n"
    ),
    "a daemon that listens": Candidate(
        "import os, socket, time\ns = socket.create_server(('127.0.0.1', 0))\n"
        "if os.fork() == 0:\n    os.setsid()\n    s.accept()\n",
        refused="TCP",
    ),
    "a daemon's parent dies by the candidate's hand": Candidate(
        f"{FORK}child = os.fork()\nif child == 0:\n    os.fork()\n    {IDLE}\n"
        "time.sleep(0.05); os.kill(child, 9); os.wait()\n"
    ),
    "it waits for all children, daemons beside": Candidate(
        f"{DAEMON}try:\n    while True: os.wait()\nexcept ChildProcessError: print('none')\n",
        stdout="none\n",
        adopted=True,
    ),
}
"""Processes that leave the candidate's group, session and family."""

MESSAGES = {
    "words that are no message": Candidate(f"{LINK}say(b'words that are no message at all')\n", unknown=True),
    "a length, and nothing": Candidate(f"{LINK}say(struct.pack('!I', 100))\n", unknown=True),
    "a length, and the end": Candidate(f"{LINK}say(struct.pack('!I', 100))\nos._exit(0)\n", unknown=True),
    "half a length, and no end": Candidate(f"{LINK}say(b'ab')\ntime.sleep(600)\n", unknown=True, hangs=True),
    "half a length, and the end": Candidate(f"{LINK}say(b'ab')\nos._exit(0)\n", unknown=True),
    "the largest length": Candidate(f"{LINK}say(b'\\xff' * 64)\n", unknown=True),
    "an empty message": Candidate(f"{LINK}say(b'\\0' * 4)\n", unknown=True),
    "zeros": Candidate(f"{LINK}say(b'\\0' * 4096)\n", unknown=True),
    "a list": Candidate(f"{LINK}say(struct.pack('!I', 2) + b'[]')\n", unknown=True),
    "a number": Candidate(f"{LINK}say(struct.pack('!I', 1) + b'7')\n", unknown=True),
    "an empty object": Candidate(f"{LINK}say(struct.pack('!I', 2) + b'{{}}')\n", unknown=True),
    "deep brackets": Candidate(f"{LINK}say(struct.pack('!I', 100000) + b'[' * 100000)\n", unknown=True),
    "no UTF-8": Candidate(f"{LINK}say(struct.pack('!I', 4) + b'\"\\xff\\xff\"')\n", unknown=True),
    "a long number": Candidate(f"{LINK}say(struct.pack('!I', 90000) + b'9' * 90000)\n", unknown=True),
    "a report of its own": Candidate(
        f"{LINK}text = {REPORT!r}.encode()\nsay(struct.pack('!I', len(text)) + text)\n1 / 0\n", exit=1, unknown=True
    ),
    "a report of its own, and the end": Candidate(
        f"{LINK}text = {REPORT!r}.encode()\nsay(struct.pack('!I', len(text)) + text)\nos._exit(9)\n",
        exit=9,
        unknown=True,
    ),
    "it says that the worker failed": Candidate(
        f"{LINK}text = b'{{\"broken\": 7}}'\nsay(struct.pack('!I', len(text)) + text)\n", unknown=True
    ),
    "it says that it hangs": Candidate(
        f"{LINK}text = b'{{\"hanging\": [], \"launches\": 3}}'\nsay(struct.pack('!I', len(text)) + text)\n",
        unknown=True,
    ),
    "files beside a message": Candidate(
        f"{LINK}import socket\nfor fd in sockets():\n"
        "    with socket.socket(fileno=os.dup(fd)) as s: socket.send_fds(s, [b'\\0'], [0, 1, 2])\n",
        unknown=True,
    ),
    "json.dumps writes nothing": Candidate("import json\njson.dumps = lambda *a, **k: ''\n", unknown=True),
    "json.dumps raises": Candidate("import json\njson.dumps = None\n", unknown=True),
    "json's encoder lies": Candidate(
        "import json\njson.JSONEncoder.encode = lambda *a: '{\"exit\": 0}'\n", unknown=True
    ),
    "json's encoder writes half": Candidate(
        "import json\nold = json.JSONEncoder.encode\njson.JSONEncoder.encode = lambda *a: old(*a)[:20]\n1 / 0\n",
        exit=1,
        failure="ZeroDivisionError",
        unknown=True,
    ),
    "json is another afterwards": Candidate(
        "import json\ndef encode(self, value, old=json.JSONEncoder.encode):\n"
        "    return '7' if value == 'unharmed' else old(self, value)\njson.JSONEncoder.encode = encode\n"
    ),
    "os is gone": Candidate(
        "import os\nfor name in dir(os):\n    if callable(getattr(os, name)): setattr(os, name, None)\n", unknown=True
    ),
    "a gigabyte": Candidate(f"{LINK}for _ in range(1024): say(b'x' * (1 << 20))\n", unknown=True),
    "struct packs nonsense": Candidate("import struct\nstruct.pack = struct.Struct = None\n", unknown=True),
    "sockets send nothing": Candidate(
        "import socket\nsocket.socket.sendall = lambda *a: None\nsocket.socket.send = lambda s, b, *a: len(b)\n1 / 0\n",
        exit=1,
        failure="ZeroDivisionError",
        unknown=True,
    ),
    "all files are closed": Candidate("import os\nos.closerange(3, 256)\n", unknown=True),
    "all files are closed, and a failure": Candidate(
        "import os\nos.closerange(0, 256)\n1 / 0\n", exit=120, failure="ZeroDivisionError", unknown=True
    ),
    "all files are closed, and some time": Candidate(
        "import os, time\nos.closerange(3, 256)\ntime.sleep(0.2)\nos._exit(6)\n", exit=6
    ),
    "the link is shut": Candidate(
        f"{LINK}import socket\nfor fd in sockets(): socket.socket(fileno=os.dup(fd)).shutdown(2)\n1 / 0\n",
        exit=1,
        unknown=True,
    ),
    "something else has the link's number": Candidate(
        f"{LINK}r, w = os.pipe()\nfor fd in list(sockets()): os.dup2(w, fd)\n1 / 0\n", exit=1, unknown=True
    ),
    "the link does not wait": Candidate(
        f"{LINK}for fd in sockets(): os.set_blocking(fd, False)\nprint('x')\n", stdout="x\n", unknown=True
    ),
}
"""What is said on the link that is not the candidate's."""

ENDINGS = {
    "stderr is closed": Candidate("import sys\nsys.stderr.close()\n1 / 0\n", exit=1, failure="ZeroDivisionError"),
    "stderr is None": Candidate("import sys\nsys.stderr = None\n1 / 0\n", exit=1, failure="ZeroDivisionError"),
    "stderr is an int": Candidate("import sys\nsys.stderr = 3\n1 / 0\n", exit=120, failure="ZeroDivisionError"),
    "stderr's file is closed": Candidate("import os\nos.close(2)\n1 / 0\n", exit=120, failure="ZeroDivisionError"),
    "stderr closed, words at exit": Candidate("import sys\nsys.stderr.close()\nsys.exit('words')\n", exit=1),
    "stderr closed, an exit handler fails": Candidate(
        "import atexit, sys\nsys.stderr.close()\natexit.register(lambda: 1 / 0)\n"
    ),
    "stdout is closed": Candidate("import sys\nsys.stdout.close()\n"),
    "stdout's file is closed, words wait": Candidate("import os\nos.close(1)\nprint('x')\n", exit=120, stdout=""),
    "stdout is None": Candidate("import sys\nsys.stdout = None\nprint('x')\n", stdout=""),
    "an exception that cannot be told": Candidate(
        "class E(Exception):\n    def __str__(self): raise SystemExit(9)\nraise E\n", exit=1, unknown=True
    ),
    "an exception of an odd name": Candidate(
        "E = type('\\ud800', (Exception,), {'__module__': 3})\nraise E('\\ud800')\n", exit=1, unknown=True
    ),
    "builtins are gone": Candidate("import builtins\nbuiltins.__dict__.clear()\n", unknown=True),
    "modules are gone": Candidate("import sys\nsys.modules.clear()\n", unknown=True),
    "the stack is deep": Candidate(
        "import sys\nsys.setrecursionlimit(60)\ndef f(): f()\nf()\n", exit=1, failure="RecursionError", unknown=True
    ),
    "no more files": Candidate(
        "import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "try:\n    while True: os.dup(0)\nexcept OSError: print('full')\n",
        stdout="full\n",
        unknown=True,
    ),
    "no number of a file is left": Candidate(
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\nraise ValueError('boom')\n",
        exit=1,
        failure="ValueError",
    ),
    "an exception of a very long name": Candidate(
        "raise type('V' * 10_000_000, (ValueError,), {})('boom')\n", exit=1, unknown=True
    ),
    "its parent is killed": Candidate(
        "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(600)\n", exit=-9, unknown=True, refused="signals"
    ),
    "its parent is stopped and goes on": Candidate(
        "import os\nos.kill(os.getppid(), 19)\nos.kill(os.getppid(), 18)\n", unknown=True, refused="signals"
    ),
    "its parent is stopped": Candidate("import os\nos.kill(os.getppid(), 19)\n", refused="signals"),
    "all above it are looked for": Candidate(
        "import os\ndef above(pid):\n    with open(f'/proc/{pid}/stat') as stat:\n"
        "        return int(stat.read().rpartition(')')[2].split()[1])\n"
        "pid = os.getppid()\nwhile pid > 1:\n    os.kill(pid, 0)\n    pid = above(pid)\n",
        refused="signals",
    ),
    "it writes into its parent's memory": Candidate(
        "import os\nos.close(os.open(f'/proc/{os.getppid()}/mem', os.O_RDWR))\n", refused="writes"
    ),
    "it sleeps at exit": Candidate("import atexit, time\natexit.register(time.sleep, 600)\n", hangs=True),
    "its group is killed": Candidate("import os\nos.killpg(0, 9)\n", exit=-9),
    "it stops": Candidate("import os\nos.kill(os.getpid(), 19)\n", unknown=True, hangs=True),
    "another program takes its place": Candidate("import os\nos.execvp('sh', ['sh', '-c', 'exit 8'])\n", exit=8),
    "another program takes its place for good": Candidate(
        "import os\nos.execvp('sleep', ['sleep', '600'])\n", hangs=True
    ),
    "os.kill and os.waitpid lie": Candidate(
        f"{FORK}os.kill = os.waitpid = os.wait = os.getpid = os._exit = os.fork = None\n"
    ),
    "time stands still": Candidate("import time\ntime.monotonic = time.time = lambda: 0.0\ntime.sleep = None\n"),
    "an alarm comes late": Candidate("import signal\nsignal.alarm(1)\n"),
    "shared memory is left": Candidate(
        "import os\nfrom multiprocessing import shared_memory as m\n"
        "block = m.SharedMemory(os.environ['HOSTILE'], create=True, size=8)\nos.dup(block._fd)\n"
    ),
}
"""How it ends, and what it does to whoever tells of that."""

FILTER = (
    "import ctypes, os, struct\nlibc = ctypes.CDLL(None)\nlibc.prctl(38, 1, 0, 0, 0)\n"
    "code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))\n"
    "print(libc.prctl(22, 2, struct.pack('HxxxxxxP', 1, ctypes.addressof(code)), 0, 0))\n"
)
LASTING = {
    "little time": Candidate("import resource\nresource.setrlimit(resource.RLIMIT_CPU, (60, 120))\n"),
    "no room for files": Candidate("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"),
    "few files": Candidate("import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))\n"),
    "a timer of its own time": Candidate("import signal\nsignal.setitimer(signal.ITIMER_PROF, 0.05)\n", unknown=True),
    "a timer that comes again": Candidate(
        "import signal\nsignal.signal(signal.SIGVTALRM, signal.SIG_IGN)\n"
        "signal.setitimer(signal.ITIMER_VIRTUAL, 0.05, 0.05)\n"
    ),
    "no rights on new files": Candidate("import os\nos.umask(0o777)\n"),
    "a lower priority": Candidate("import os\nos.nice(10)\n"),
    "one processor": Candidate("import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"),
    "a filter of system calls": Candidate(FILTER, stdout="0\n"),
    "no collector": Candidate("import gc\ngc.disable()\ngc.set_threshold(1, 1, 1)\n"),
}
"""What the kernel and the interpreter keep of a process for what runs in it next."""

ALL = {**FORKS, **DAEMONS, **MESSAGES, **ENDINGS, **LASTING}
