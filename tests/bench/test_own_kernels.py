"""perfprobe's kernels, compared with numpy's widest floats, the C library, and loops of a C compiler."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import own_ceilings
from perfprobe import native
from perfprobe.bench import own_kernels

core = native.core()
KERNELS = [kernel for kernel in core.element_kernels() if not kernel[4]]
NAMES = [kernel[0] for kernel in KERNELS]
DTYPES = {"f32": np.float32, "f64": np.float64}
KINDS = ("exp", "log", "tanh", "erf", "sigmoid", "sqrt", "div")
LONG = np.longdouble  # 80 bits on x86; f64 is compared with it

# By kind: the function in the widest floats, ranges in f32 and f64, and the errors stated in
# csrc/cpu/peak/element_math.h.
_erf = np.vectorize(math.erf, otypes=[np.float64])
EXACT: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "erf": lambda x: _erf(x.astype(np.float64)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": np.sqrt,
}
RANGES = {
    "exp": ((-87.3, 88.7), (-708.0, 709.7)),
    "log": ((1e-3, 1e3), (1e-3, 1e3)),
    "tanh": ((-10.0, 10.0), (-20.0, 20.0)),
    "erf": ((-5.0, 5.0), (-6.5, 6.5)),
    "sigmoid": ((-87.0, 20.0), (-707.0, 50.0)),
    "sqrt": ((0.0, 100.0), (0.0, 100.0)),
}
ERROR = {
    "exp": (1.2e-7, 2.2e-16),
    "log": (1.2e-7, 2.2e-16),
    "tanh": (3.5e-7, 5e-16),
    "erf": (4.5e-7, 1.2e-15),
    "sigmoid": (2e-7, 4e-16),
    "sqrt": (6e-8, 1.2e-16),
}


def run(name: str, values: np.ndarray, more: np.ndarray | None = None) -> np.ndarray:
    out = np.empty_like(values)
    core.run_elements(name, values, values if more is None else more, out)
    return out


@pytest.mark.parametrize("kernel", [of for of in KERNELS if of[1] != "div"], ids=lambda of: of[0])
def test_a_kernel_is_within_its_stated_error(kernel: tuple[str, str, str, str, str]) -> None:
    name, kind, dtype, _, _ = kernel
    at = list(DTYPES).index(dtype)
    draw = np.random.default_rng(0)
    ends = [RANGES[kind][at], (0.01, 1.0), (0.5, 1.5), (1e-4, 1e-3)]
    values = np.concatenate([draw.uniform(low, high, 5003) for low, high in ends]).astype(DTYPES[dtype])
    if kind == "log":  # every exponent, including denormal numbers
        values = np.concatenate([values, 2.0 ** draw.uniform(-148 if at == 0 else -1070, 120, 5000)])
        values = values.astype(DTYPES[dtype])
    exact = EXACT[kind](values.astype(LONG))
    known = np.abs(exact) > 0
    error = np.abs(run(name, values).astype(LONG) - exact)[known] / np.abs(exact)[known]
    # math.erf has an error of an ulp itself, and a long double may be no longer than a double.
    slack = 2.3e-16 if kind == "erf" or np.finfo(LONG).eps > 1e-18 else 0.0
    assert float(error.max()) <= ERROR[kind][at] + slack


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("div")])
def test_division_equals_the_processors_division(name: str) -> None:
    draw = np.random.default_rng(1)
    left, right = (draw.normal(size=1003).astype(DTYPES[name.split()[1]]) for _ in range(2))
    assert np.array_equal(run(name, left, right), left / right)


LIMITS = {
    "exp": {0.0: 1.0, np.inf: np.inf, -np.inf: 0.0, 1e4: np.inf, -1e4: 0.0},
    "log": {0.0: -np.inf, 1.0: 0.0, np.inf: np.inf, -1.0: np.nan, -np.inf: np.nan},
    "tanh": {0.0: 0.0, np.inf: 1.0, -np.inf: -1.0, 50.0: 1.0},
    "erf": {0.0: 0.0, np.inf: 1.0, -np.inf: -1.0, 50.0: 1.0},
    "sigmoid": {0.0: 0.5, np.inf: 1.0, -np.inf: 0.0, 1e4: 1.0, -1e4: 0.0},
    "sqrt": {0.0: 0.0, 4.0: 2.0, np.inf: np.inf, -1.0: np.nan},
}


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_special_arguments_give_their_limits(kernel: tuple[str, str, str, str, str]) -> None:
    name, kind, dtype, _, _ = kernel
    expected = LIMITS.get(kind, {1.0: 1.0}) | {np.nan: np.nan}
    found = run(name, np.array(list(expected), DTYPES[dtype]))
    np.testing.assert_allclose(found, list(expected.values()), rtol=2e-7)


def test_arrays_of_wrong_length_or_format_are_refused() -> None:
    four, two = np.ones(4, np.float32), np.ones(2, np.float32)
    with pytest.raises(ValueError, match="as many elements"):
        core.run_elements("exp f32 plain", four, four, two)
    with pytest.raises(ValueError, match="not a contiguous buffer"):
        core.run_elements("exp f32 plain", four.astype(np.float64), four, four)
    with pytest.raises(ValueError, match="not a contiguous buffer"):
        core.run_elements("exp f32 plain", four[::2], two, two)
    with pytest.raises(ValueError, match="no kernel"):
        core.run_elements("exp f8 plain", four, four, four)


def test_the_fastest_instructions_that_run_here_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(missing: str) -> object:
        order = ("avx512", "avx2", "plain")
        rows = [(f"exp f32 {isa}", "exp", "f32", isa, "none here" if isa in missing else "") for isa in order]
        return type("Core", (), {"element_kernels": staticmethod(lambda: rows)})

    for missing, chosen in (("", "avx512"), ("avx512", "avx2"), ("avx512 avx2", "plain")):
        own_kernels.element_kernels.cache_clear()
        monkeypatch.setattr(native, "core", lambda missing=missing: listed(missing))
        assert own_kernels.element_kernels() == {("exp", "f32"): f"exp f32 {chosen}"}
    own_kernels.element_kernels.cache_clear()


def test_there_is_a_kernel_of_each_kind() -> None:
    assert set(own_kernels.element_kernels()) == {(kind, dtype) for kind in KINDS for dtype in DTYPES}


@pytest.mark.parametrize("kind", own_ceilings.LOOPS)
def test_compiled_c_loops_give_the_same_results(kind: str, tmp_path: Path) -> None:
    """`python -m benchmarks.own_ceilings` compares their speed."""
    loops = own_ceilings.compiled(tmp_path)
    if loops is None:
        pytest.skip("no C compiler on this machine (cc, gcc or clang): there is nothing to compare with")
    values = np.random.default_rng(2).uniform(0.5, 1.5, own_ceilings.COUNT).astype(np.float32)
    found, theirs = np.empty_like(values), np.empty_like(values)
    own_ceilings.ours(kind)(values, found)()
    for name in own_ceilings.LOOPS[kind]:
        loops[name](values, theirs)()
        np.testing.assert_allclose(found, theirs, rtol=1e-6)
