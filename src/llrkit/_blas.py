"""The threads of the linear algebra library, where they would cost more than they give."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products and decompositions in the calling thread only; a context, and a decorator.

    For many small matrices: threads of BLAS that wait for each other on a busy machine took four times as
    long as one of them, and their number changes the last bits of what they give.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield
