"""Log-likelihood-ratios that can be trusted, and how far they can be trusted.

>>> import llrkit as lk
>>> scores = lk.Scores(target=[2.1, 3.5, 0.4, 1.7], nontarget=[-2.2, -0.3, 0.6, -1.9, -3.1])
>>> round(lk.eer(scores), 4), round(lk.cllr(scores), 4)
(0.1111, 0.4203)
"""

import lazy_loader as lazy

_listed, __dir__, __all__ = lazy.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """A public name, imported when first used; for any other, an error that tells what may be meant."""
    # Python and its tools ask for names of their own (__wrapped__, _repr_html_) and need no advice
    if name in __all__ or name.startswith("_"):
        return _listed(name)
    from llrkit.base.public_names import explain_missing

    # With a name the error is complete: Python adds no guess of its own, which would know the top only.
    raise AttributeError(explain_missing(name), name=name)
