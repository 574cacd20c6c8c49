"""scikit-learn estimators: every calibrator of scores as a binary classifier and transformer.

``X`` holds the scores, one column per system; ``transform(X)`` gives LLRs of shape (n, 1),
``decision_function(X)`` of shape (n,), and ``predict_proba`` posteriors at the constructor's ``prior``.
Methods whose criterion is one for a linear function of K scores fuse several columns themselves: CMLG (the
Gaussian likelihood of K scores), logistic regression and the other scoring rules. All others describe one
score, and several are fused first by logistic regression. Classes that do not overlap, where an unregularized
fit has no answer, are fitted with a little regularization.

Importing this package makes the names of its :mod:`~llrkit.sklearn.scorers` known to scikit-learn:
``cross_val_score(model, X, y, scoring="eer")``.
"""

import lazy_loader as lazy

from llrkit.sklearn import scorers as scorers

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
