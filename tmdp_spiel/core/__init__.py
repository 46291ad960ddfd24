"""What every layer uses: compilation, its cache, hashed random numbers, validation, files."""

from tmdp_spiel.core import numba_cache

numba_cache.cover_imports()
