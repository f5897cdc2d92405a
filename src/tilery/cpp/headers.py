"""Standard headers for the tile part of a program, as texts: NVRTC has none, and nvcc includes some unasked.

Headers that libcu++ has become its own, in namespace `std` too. Headers that only host code uses are empty.
"""

from __future__ import annotations

PRELUDE = "tilery_prelude.h"
_INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long long"}


def _prelude() -> str:
    """Return what nvcc declares in every file: the integer types, and macros of <math.h>, <float.h> and <limits.h>."""
    lines = [
        "#pragma once",
        "namespace std { using ::size_t; using ::ptrdiff_t; using nullptr_t = decltype(nullptr); }",
    ]
    for bits, kind in _INTEGERS.items():
        lines += [f"using int{bits}_t = signed {kind};", f"using uint{bits}_t = unsigned {kind};"]
        lines.append(f"namespace std {{ using ::int{bits}_t; using ::uint{bits}_t; }}")
    lines += ["using intptr_t = int64_t;", "using uintptr_t = uint64_t;"]
    lines += [f"#ifndef {name}\n#define {name} {value}\n#endif" for name, value in _MACROS.items()]
    return "\n".join(lines) + "\n"


_MACROS = {
    "INFINITY": "__builtin_bit_cast(float, 0x7f800000)",
    "NAN": "__builtin_bit_cast(float, 0x7fffffff)",
    "HUGE_VAL": "__builtin_bit_cast(double, 0x7ff0000000000000)",
    "HUGE_VALF": "__builtin_bit_cast(float, 0x7f800000)",
    "M_E": "2.7182818284590452354",
    "M_LOG2E": "1.4426950408889634074",
    "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
    "FLT_MAX": "3.40282346638528859811704183484516925e+38F",
    "FLT_MIN": "1.17549435082228750796873653722224568e-38F",
    "FLT_EPSILON": "1.19209289550781250000000000000000000e-7F",
    "DBL_MAX": "1.79769313486231570814527423731704357e+308",
    "DBL_MIN": "2.22507385850720138309023271733240406e-308",
    "DBL_EPSILON": "2.22044604925031308084726333618164062e-16",
    "INT_MAX": "2147483647",
    "INT_MIN": "(-2147483647 - 1)",
    "UINT_MAX": "4294967295U",
    "CHAR_BIT": "8",
    "INT8_MAX": "127",
    "INT16_MAX": "32767",
    "INT32_MAX": "2147483647",
    "INT32_MIN": "(-2147483647 - 1)",
    "INT64_MAX": "9223372036854775807LL",
    "UINT8_MAX": "255",
    "UINT16_MAX": "65535",
    "UINT32_MAX": "4294967295U",
    "UINT64_MAX": "18446744073709551615ULL",
}
_LIBCUXX = (
    *("algorithm", "array", "bit", "bitset", "complex", "concepts", "expected", "functional", "initializer_list"),
    *("iterator", "limits", "mdspan", "numbers", "numeric", "optional", "ratio", "span", "string_view", "tuple"),
    *("type_traits", "utility", "variant", "cmath"),
)
_EMPTY = (
    *("any", "atomic", "barrier", "cassert", "cctype", "cerrno", "cfenv", "cfloat", "charconv", "chrono", "cinttypes"),
    *("climits", "clocale", "codecvt", "compare", "condition_variable", "coroutine", "csetjmp", "csignal", "cstdarg"),
    *("cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "cwchar", "deque", "exception", "execution"),
    *("filesystem", "format", "forward_list", "fstream", "future", "iomanip", "ios", "iosfwd", "iostream", "istream"),
    *("latch", "list", "locale", "map", "memory", "memory_resource", "mutex", "new", "ostream", "queue", "random"),
    *("ranges", "regex", "scoped_allocator", "semaphore", "set", "shared_mutex", "source_location", "sstream", "stack"),
    *("stdexcept", "streambuf", "string", "strstream", "syncstream", "system_error", "thread", "typeindex", "typeinfo"),
    *("unordered_map", "unordered_set", "valarray", "vector", "version"),
    *("assert.h", "ctype.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h", "signal.h", "stdarg.h"),
    *("stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "strings.h", "time.h", "unistd.h"),
    *("dlfcn.h", "fcntl.h", "getopt.h", "sys/stat.h", "sys/time.h", "sys/types.h", "sys/mman.h"),
    *("cublas_v2.h", "cublasLt.h", "curand.h", "curand_kernel.h", "cudnn.h", "cuda_profiler_api.h", "nvToolsExt.h"),
    *("nvtx3/nvToolsExt.h", "nvrtc.h"),
)


def standard_headers() -> dict[str, str]:
    """Return the texts of the headers by name.

    >>> standard_headers()["vector"], "cuda/std/type_traits" in standard_headers()["type_traits"]
    ('', True)
    """
    made = dict.fromkeys(_EMPTY, "")
    for name in _LIBCUXX:
        undefined = "#undef INFINITY\n#undef NAN\n" if name == "cmath" else ""
        made[name] = (
            f"#pragma once\n{undefined}#include <cuda/std/{name}>\nnamespace std {{ using namespace ::cuda::std; }}\n"
        )
    return made | {PRELUDE: _prelude()}
