"""Whether the kernel uses huge pages by default: one page fault is then 512 pages."""

from pathlib import Path

import pytest

_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SMALL_PAGES = pytest.mark.skipif(
    _SETTING.exists() and "[always]" in _SETTING.read_text(encoding="ascii"),
    reason="huge pages: a fault is not a page",
)
