// Includes CPython's internal header of frames, for code that knows the layout of the version it is
// built for.
#pragma once

#include <Python.h>

// The versions whose layout is known. Free-threaded builds change frames of other threads without a
// lock.
#if PY_VERSION_HEX < 0x030F0000 && !defined(Py_GIL_DISABLED)
#define PERFPROBE_FAST_FRAMES 1
#endif

#ifdef PERFPROBE_FAST_FRAMES

#if PY_VERSION_HEX < 0x030B0000

#include <frameobject.h>

#else

// The internal headers are C: they require this define and convert without casts.
#define Py_BUILD_CORE 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe_structs.h>
#else
#include <internal/pycore_frame.h>
#endif
#pragma GCC diagnostic pop
#undef Py_BUILD_CORE

#endif

#endif
