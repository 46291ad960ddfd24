"""How inner loops are compiled."""

import numba

# For functions that run once or more per episode and allocate nothing: inlined into their callers, and without the
# reference counting of arrays that numba otherwise adds to each call, which here would cost more than the work.
kernel = numba.njit(cache=True, forceinline=True, _nrt=False)
