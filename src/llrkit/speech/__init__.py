"""From speech to scores: embeddings, back-end models and score normalization.

Used as a namespace, ``lk.speech.train_plda(...)``; names are imported when first used.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
