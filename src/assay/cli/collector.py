"""Work without the collector of cycles: records have none, and are many."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Look for no cycles in the body: it takes a tenth of the time, and more of many reports."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
