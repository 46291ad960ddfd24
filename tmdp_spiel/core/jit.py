"""How inner loops are compiled.

Both decorators are for functions that allocate nothing and return only numbers. They omit the reference counting of
arrays that numba otherwise adds to every call, which here would take longer than the work itself. An array returned by
such a function would be freed while it is still in use. They also omit the entry point for C callbacks, which is not
used here and takes a tenth of the compile time.
"""

from __future__ import annotations

import numba

# For small functions, inlined into their callers.
kernel = numba.njit(cache=True, forceinline=True, _nrt=False, no_cfunc_wrapper=True)

# For passes over a tree, compiled once and called.
tree_pass = numba.njit(cache=True, _nrt=False, no_cfunc_wrapper=True)


class Direct:
    """A compiled function for callers whose arguments always have the types of the first call.

    The types are not checked again: for named tuples of arrays, the check often takes longer than the call.
    """

    __slots__ = ("_compiled", "_entry")

    def __init__(self, compiled):
        self._compiled, self._entry = compiled, None

    def __call__(self, *arguments):
        if self._entry is None:
            types = tuple(map(numba.typeof, arguments))
            self._compiled.compile(types)
            self._entry = self._compiled.overloads[types].entry_point
        return self._entry(*arguments)

    def __reduce__(self):
        return Direct, (self._compiled,)
