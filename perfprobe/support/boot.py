"""What perfprobe's own child processes run first: `boot.py N ENTRY... MODULE WORD...`, see `starter.command`.

This is a file, because with `-c` the current folder is on sys.path, and Python 3.13 would import linecache
from there before it runs the code. Nothing else is imported before sys.path is that of the parent process.
"""

import sys

if __name__ == "__main__":
    entries = int(sys.argv[1])
    path, words = sys.argv[2 : 2 + entries], sys.argv[2 + entries :]
    sys.path[:] = path
    __import__("perfprobe")  # this copy, even if another comes first on sys.path
    del sys.path[0]
    main = __import__(words[0], fromlist=["main"]).main
    sys.argv[1:] = words[1:]
    sys.exit(main())
