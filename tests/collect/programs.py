"""Small programs that must behave the same with and without perfprobe. None of them needs torch."""

from __future__ import annotations

from textwrap import dedent

_SOURCES = {
    "ends": "print('done')",
    "exit_3": "import sys; sys.exit(3)",
    "exit_text": "import sys; sys.exit('a last word')",
    "exit_none": "import sys; sys.exit()",
    "exit_large": "import sys; sys.exit(2**40)",
    "raises": """
        def inner():
            raise ValueError("lost")
        inner()
        """,
    "raises_in_chain": """
        try:
            {}["key"]
        except KeyError as error:
            try:
                1 / 0
            except ZeroDivisionError:
                raise RuntimeError("both") from error
        """,
    "raises_while_handling": """
        try:
            1 / 0
        except ZeroDivisionError:
            undefined_name
        """,
    "raises_own_base_exception": "class Stop(BaseException): pass\nraise Stop(1, 2)",
    "own_excepthook": """
        import sys, traceback
        def hook(kind, error, tb):
            print(kind.__name__, [f.name for f in traceback.extract_tb(tb)], error.__traceback__ is tb)
            print([f.lineno for f in traceback.extract_tb(sys.last_traceback)])
        sys.excepthook = hook
        raise ValueError(1)
        """,
    "excepthook_fails": """
        import sys
        def hook(kind, error, tb):
            raise KeyError("hook")
        sys.excepthook = hook
        raise ValueError(1)
        """,
    "excepthook_exits": """
        import sys
        def hook(kind, error, tb):
            sys.exit(9)
        sys.excepthook = hook
        raise ValueError(1)
        """,
    "excepthook_gone": "import sys; del sys.excepthook; raise ValueError(1)",
    "interrupted": "raise KeyboardInterrupt",
    "sigint": "import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(9)",
    "sigterm": "import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)",
    "sigterm_handled": """
        import os, signal, sys
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        os.kill(os.getpid(), signal.SIGTERM)
        """,
    "os_exit": "import os; print('now', flush=True); os._exit(5)",
    "abort": "import os; os.abort()",
    "exec": "import os, sys; os.execv(sys.executable, [sys.executable, '-c', 'print(12)'])",
    "fork_child_os_exits": """
        import os, sys
        child = os.fork()
        if child == 0:
            os._exit(4)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    "fork_child_exits": """
        import atexit, os, sys
        atexit.register(lambda: print("bye", flush=True))
        child = os.fork()
        if child == 0:
            sys.exit(4)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    "fork_child_raises": """
        import os
        child = os.fork()
        if child == 0:
            raise ValueError("in the child")
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    "fork_parent_leaves_first": """
        import os, time
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.read(reader, 1)
            print("child still prints")
        else:
            os.write(writer, b"x")
            os.wait()
        """,
    "thread_outlives_main": """
        import threading, time
        main_over = threading.Event()
        def work():
            main_over.wait(0.2)
            print("worker ends, main alive:", threading.main_thread().is_alive())
        threading.Thread(target=work).start()
        print("main ends")
        """,
    "thread_raises": """
        import threading
        t = threading.Thread(target=lambda: 1 / 0, name="worker")
        t.start(); t.join()
        """,
    "daemon_thread": """
        import threading, time
        threading.Thread(target=lambda: time.sleep(30), daemon=True).start()
        print("main ends")
        """,
    "executor": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2)
        print(list(pool.map(lambda x: x * x, range(5))))
        """,
    "atexit_prints": """
        import atexit, sys
        atexit.register(print, "first registered")
        atexit.register(lambda: (print("second"), print("err", file=sys.stderr)))
        raise SystemExit(6)
        """,
    "atexit_raises": "import atexit; atexit.register(lambda: 1 / 0); print('main')",
    "deleted_at_exit": """
        class Loud:
            def __del__(self):
                print("deleted")
        kept = Loud()
        """,
    "cprofile": """
        import cProfile, io, pstats
        def work():
            return sum(range(1000))
        with cProfile.Profile() as profile:
            work()
        print(profile.getstats()[0].callcount, len(profile.getstats()))
        """,
    "traced": """
        import sys
        seen = []
        sys.settrace(lambda frame, event, arg: seen.append(frame.f_code.co_name))
        def work():
            pass
        work()
        sys.settrace(None)
        print(seen)
        """,
    "reads_stdin": "import sys; print(input()); print(sys.stdin.read().upper())",
    "chdir": "import os, tempfile; os.chdir(tempfile.gettempdir()); print('moved')",
    "closes_stderr": "import sys; sys.stderr.close(); print('on')",
    "closes_descriptors": "import os; os.close(2); print('on')",
    "closes_stdout": "import os; os.close(1)",
    "closes_stdout_object": "import sys; sys.stdout.close()",
    "replaces_streams": """
        import io, sys
        sys.stdout = sys.stderr = io.StringIO()
        print("swallowed")
        """,
    "file_takes_stderr": """
        import os
        os.close(2)
        with open("taken.txt", "w") as file:
            print(file.fileno())
            file.write("mine")
            file.flush()
            os.set_inheritable(2, True)
            os.dup(2)
        """,
    "recursion": """
        import sys
        def depth(n):
            try:
                return depth(n + 1)
            except RecursionError:
                return n
        print(depth(0))
        """,
    "recursion_fails": "def f(): f()\nf()",
    "forgets_modules": """
        import sys
        for name in list(sys.modules):
            if name.startswith(("perfprobe", "json", "argparse", "importlib", "re")):
                del sys.modules[name]
        sys.path.clear(); sys.meta_path.clear(); sys.path_hooks.clear()
        print("gone")
        """,
    "own_modules_win": "import token, types; print(token.__file__ == __file__.replace('main', 'token'))",
    "spoils_functions": """
        import atexit, builtins, json, os, posixpath, re, sys, threading, time, weakref
        kept = {json: ["dumps", "loads"], os: ["fstat", "write", "getpid", "posix_spawn", "waitpid", "open",
                "read", "close", "stat", "getcwd", "unsetenv", "WIFSIGNALED", "WTERMSIG", "WEXITSTATUS"],
                posixpath: ["join", "dirname", "basename", "abspath", "exists", "isabs", "isfile"],
                re: ["search", "fullmatch", "match", "compile", "sub"],
                time: ["time", "time_ns", "monotonic_ns", "process_time_ns", "perf_counter_ns"],
                builtins: ["open", "print", "input", "__import__", "exec", "compile"],
                threading: ["enumerate"], weakref: ["ref"], sys: ["_getframe", "getprofile", "exc_info"]}
        print("spoilt")
        for module, names in kept.items():
            for name in names:
                setattr(module, name, None)
        """,
    "namespace": """
        import sys
        print(sorted(globals()), __name__, __package__, __spec__, __doc__, __cached__)
        print(type(__builtins__).__name__, type(__loader__).__name__, __loader__.name, __loader__.path)
        print(__file__, sys.modules["__main__"].__dict__ is globals(), list(sys.modules).index("__main__"))
        """,
    "docstring": "'what it does'\nprint(__doc__)",
    "annotations": "x: int = 1\nprint(__annotations__)",
    "arguments": "import sys; print(sys.argv, sys.path, sys.flags)",
    "warns": "import warnings; warnings.warn('careful'); warnings.warn('again', DeprecationWarning)",
    "syntax_error": "print('never')\ndef broken(:\n    pass\n",
    "indentation_error": "if True:\nprint(1)\n",
    "group": "raise ValueError('one', [ValueError(2)])",
    "import_fails": "import not_there_at_all",
    "pickles_main_class": """
        import pickle
        class Point:
            def __init__(self, x): self.x = x
        print(pickle.loads(pickle.dumps(Point(3))).x, Point.__module__, Point)
        """,
    "asyncio": """
        import asyncio
        async def main():
            await asyncio.sleep(0)
            raise OSError("async")
        asyncio.run(main())
        """,
    "subprocess": """
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", "print(5)"], capture_output=True).stdout)
        """,
}

_WORKERS = """
    import multiprocessing, os, sys
    class Point:
        def __init__(self, x): self.x = x
    def work(point):
        return Point(point.x + 1)
    def fail():
        sys.exit(3)
    if __name__ == "__main__":
        context = multiprocessing.get_context("{method}")
        with context.Pool(2) as pool:
            print([point.x for point in pool.map(work, [Point(1), Point(2)])])
            pool.close()
            pool.join()
        child = context.Process(target=fail)
        child.start()
        child.join()
        print(child.exitcode)
        failing = context.Process(target=work, args=(None,), name="failing")
        failing.start()
        failing.join()
        print(failing.exitcode)
    """

SOURCES = {name: dedent(source).lstrip("\n") for name, source in _SOURCES.items()}
SOURCES.update(
    {
        f"workers_{method}": dedent(_WORKERS.format(method=method))
        for method in ("fork", "spawn", "forkserver")
    }
)

# Bytes that are invalid UTF-8.
ENCODED = {
    "latin_1": b"# -*- coding: latin-1 -*-\nprint(len('\xe9'), ascii('\xe9'))\n",
    "mark": b"\xef\xbb\xbfprint('after a byte order mark')\n",
    "carriage_returns": b"print(1)\r\nif True:\r\n    print(2)\r\n",
    "empty": b"",
}
