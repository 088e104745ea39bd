"""`python -m perfprobe`."""

import sys

if __name__ == "__main__":
    # -m puts the current folder first: a json.py or argparse.py lying there must not become ours. The program
    # gets its own first entry from collect/runner.
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[:1]
    from perfprobe.cli import main

    status = main()
    if status:
        sys.exit(status)
