"""Trial sets, embeddings and frames whose answers are known, made block by block from a seed.

Used as a namespace, ``lk.simulate.Corpus(...)``; names are imported when first used.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
