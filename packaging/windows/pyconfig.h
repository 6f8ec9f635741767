/* What CPython's headers have to know of 64-bit Windows, to build extensions with the limited API by a compiler that
 * takes GCC's options. CPython has a file of this name for its own compiler; the figures here are the platform's. */
#ifndef Py_CONFIG_H
#define Py_CONFIG_H

#define MS_WIN32
#define MS_WIN64
#define MS_WINDOWS
#define NT_THREADS
#define WITH_THREAD

#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_FPOS_T 8
#define SIZEOF_OFF_T 4
#define SIZEOF_PID_T 4
#define SIZEOF_HKEY 8
#define ALIGNOF_LONG 4
#define ALIGNOF_SIZE_T 8

#define HAVE_STDARG_PROTOTYPES 1
#define HAVE_STDDEF_H 1
#define HAVE_STDINT_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_WCHAR_H 1
#define HAVE_ERRNO_H 1
#define STDC_HEADERS 1

/* Functions and objects come from python3.dll. */
#define Py_ENABLE_SHARED 1
#define HAVE_DECLSPEC_DLL 1

/* Words are little-endian, as on every Windows that there is. */
#define PLATFORM "win32"
#define PLATLIBDIR "lib"
#endif
