"""How inner loops are compiled.

Both decorators are for functions that allocate nothing and return numbers only. They leave out the reference counting
of arrays that numba otherwise adds to every call, which here would cost more than the work itself; an array that such a
function returned would be freed under its owner. They also leave out the entry for C callbacks, which nobody uses and
which is a tenth of the time that compiling takes.
"""

import numba

# For small functions, inlined into their callers.
kernel = numba.njit(cache=True, forceinline=True, _nrt=False, no_cfunc_wrapper=True)

# For passes over a tree, compiled once and called.
tree_pass = numba.njit(cache=True, _nrt=False, no_cfunc_wrapper=True)
