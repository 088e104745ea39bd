"""The dtypes of torch: names in signatures, numbers in torch, bytes of an element.

Signatures use short names such as `f32`, `bf16` and `i64`. Dtypes without a short name have torch's own:
`bool`, `qint8`, `float8_e5m2`. csrc/torch/signature_text.cpp writes the same names.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SHORT_NAMES = {
    "uint8": "u8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "complex32": "c32",
    "complex64": "c64",
    "complex128": "c128",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}
_TORCH_NAMES = {short: name for name, short in _SHORT_NAMES.items()}

# Indexed by c10::ScalarType (torch/headeronly/core/ScalarType.h), which only grows at its end. torch passes
# the dtype arguments of an operator as such numbers.
_BY_NUMBER = (
    *("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"),
    *("complex32", "complex64", "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16"),
    *("quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16"),
    *("float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64"),
    *("uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7"),
    *("int1", "int2", "int3", "int4", "int5", "int6", "int7", "float8_e8m0fnu", "float4_e2m1fn_x2"),
)

# Bytes of an element, by torch's name. Quantized and packed dtypes are left out.
ITEM_BYTES: Mapping[str, int] = {
    **dict.fromkeys(("bool", "uint8", "int8"), 1),
    **dict.fromkeys(
        ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), 1
    ),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "complex32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64"), 8),
    "complex128": 16,
}

# Torch's names by those that Kineto writes, C++'s of the element; the first of equal ones is today's.
KINETO_NAMES: Mapping[str, str] = {
    "float": "float32",
    "double": "float64",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "long int": "int64",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "short int": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "c10::Float8_e4m3fn": "float8_e4m3fn",
    "c10::Float8_e5m2": "float8_e5m2",
    "c10::Float8_e4m3fnuz": "float8_e4m3fnuz",
    "c10::Float8_e5m2fnuz": "float8_e5m2fnuz",
    "unsigned short": "uint16",
    "unsigned int": "uint32",
    "unsigned long": "uint64",
}
# The same by the names of c10::ScalarType, which describe the messages of collectives.
SCALAR_TYPES: Mapping[str, str] = {
    **{"Byte": "uint8", "Char": "int8", "Short": "int16", "Int": "int32", "Long": "int64", "Bool": "bool"},
    **{"Half": "float16", "Float": "float32", "Double": "float64", "BFloat16": "bfloat16"},
    **{"ComplexFloat": "complex64", "ComplexDouble": "complex128", "Float8_e4m3fn": "float8_e4m3fn"},
    "Float8_e5m2": "float8_e5m2",
}
_FOR_KINETO = {torch: kineto for kineto, torch in reversed(list(KINETO_NAMES.items()))}


def short_name(name: str) -> str:
    """Returns the name in signatures of the dtype that torch calls `name`: f32 for float32."""
    return _SHORT_NAMES.get(name, name)


def torch_name(short: str) -> str:
    """Returns torch's name of a dtype in a signature: float32 for f32."""
    return _TORCH_NAMES.get(short, short)


def kineto_name(short: str) -> str | None:
    """Returns what Kineto calls a signature's dtype: `float` for f32; None where that is not known."""
    return _FOR_KINETO.get(torch_name(short))


def name_of_number(number: int) -> str | None:
    """Returns the name in signatures of the dtype with this number in torch; None if there is none."""
    return short_name(_BY_NUMBER[number]) if 0 <= number < len(_BY_NUMBER) else None
