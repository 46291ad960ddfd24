"""How inner loops are compiled.

Both decorators are for functions that allocate nothing and return numbers only. They leave out the reference counting
of arrays that numba otherwise adds to every call, which here would cost more than the work itself; an array that such a
function returned would be freed under its owner. They also leave out the entry for C callbacks, which nobody uses and
which is a tenth of the time that compiling takes.
"""

from __future__ import annotations

import numba

# For small functions, inlined into their callers.
kernel = numba.njit(cache=True, forceinline=True, _nrt=False, no_cfunc_wrapper=True)

# For passes over a tree, compiled once and called.
tree_pass = numba.njit(cache=True, _nrt=False, no_cfunc_wrapper=True)


class Direct:
    """A compiled function for callers who always give arguments of the types that the first call had.

    They are not looked at again, which for named tuples of arrays takes longer than many a call.
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
