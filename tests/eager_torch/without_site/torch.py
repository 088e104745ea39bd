"""Is imported where Python runs no sitecustomize.py, with `-S`: runs it, and then imports the real torch."""

import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path.remove(str(_HERE))
del sys.modules["torch"]
sys.path.append(str(_HERE.parent))
import sitecustomize  # type: ignore[import-not-found]  # noqa: E402, F401

sys.path.remove(str(_HERE.parent))
import torch  # noqa: E402, F401
