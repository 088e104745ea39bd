"""`python -m perfprobe`."""

import os
import sys


def _current_folder_comes_first() -> bool:
    """Whether python put the current folder on sys.path: not with -P or -I, or if the folder was removed."""
    try:
        os.getcwd()
    except OSError:
        return False
    return not getattr(sys.flags, "safe_path", sys.flags.isolated)


if __name__ == "__main__":
    # -m puts the current folder first: perfprobe must not import a json.py or argparse.py there. The program
    # gets its own first entry from collect/runner.
    if _current_folder_comes_first():
        del sys.path[:1]
    from perfprobe.cli import main

    status = main()
    if status:
        sys.exit(status)
