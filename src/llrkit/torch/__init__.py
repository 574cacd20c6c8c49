"""Metrics for training loops in torch: exact, in batches, and over several processes.

Needs the extra ``torch`` (``pip install 'llrkit[torch]'``).
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
