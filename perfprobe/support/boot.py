"""What perfprobe's own child processes run first: `boot.py N ENTRY... MODULE WORD...`, see `starter.command`.

A file, because `-c` would have the current folder on sys.path, where Python 3.13 looks for linecache before
it runs the code. Nothing is imported before sys.path is that of the process that asked.
"""

import sys

if __name__ == "__main__":
    entries = int(sys.argv[1])
    path, words = sys.argv[2 : 2 + entries], sys.argv[2 + entries :]
    sys.path[:] = path
    __import__("perfprobe")  # this copy, even where another comes first on sys.path
    del sys.path[0]
    main = __import__(words[0], fromlist=["main"]).main
    sys.argv[1:] = words[1:]
    sys.exit(main())
