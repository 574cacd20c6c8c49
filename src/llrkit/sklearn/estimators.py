"""Estimators of scikit-learn made from the fits.

In estimators of several classes, ``X`` holds one column of log-likelihoods (or logits) per class,
in the order of ``classes_``, or vectors; ``transform(X)`` gives log-likelihoods of shape (n, K),
``predict_proba`` posteriors at the constructor's ``prior``. Calibrations of scores that are given another
number of columns first make log-likelihoods of them by the affine fit. Classes that do not overlap are fitted
with a little regularization.
"""

from __future__ import annotations

import inspect
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from textwrap import dedent, indent
from typing import Any, Self, SupportsFloat, TypeAlias

import numpy as np
import numpy.typing as npt
import sklearn.base
import sklearn.utils.parallel
import sklearn.utils.validation
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, get_tags, validation
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import delayed

from llrkit import errors
from llrkit.base.arguments import Array, BoolArray, FloatArray, IntArray
from llrkit.base.process import warn_caller
from llrkit.core.losses import ScoringRule, scoring_rule
from llrkit.core.numerics import logit, probability, sigmoid
from llrkit.fits.cmlg import fit_cmlg
from llrkit.fits.folds import METHODS, M
from llrkit.fits.fusion import fit_fusion
from llrkit.fits.logistic import fit_linear, fit_logistic, fit_rule
from llrkit.maps.composite import LinearMap
from llrkit.maps.map import Map
from llrkit.multiclass.fits import fit_affine, fit_scale_offset, fit_temperature, fit_vector
from llrkit.multiclass.fits import fit_gaussian as fit_gaussian_classes
from llrkit.multiclass.maps import ClassMap, posteriors
from llrkit.multiclass.metrics import ClassCounts, Prior, class_prior
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.classes import ClassScores, ClassSource, ClassVectors
from llrkit.scores.derived import WeightedClasses, WeightedSource
from llrkit.scores.labels import classify_words

SklearnObject: TypeAlias = Any
"""A classifier, a splitter, tags or a router of scikit-learn."""
# type checkers that read its sources take defaults for types, and would refuse every array
clone: SklearnObject = sklearn.base.clone
validate_data: SklearnObject = sklearn.utils.validation.validate_data
Parallel: SklearnObject = sklearn.utils.parallel.Parallel
Weights: TypeAlias = npt.ArrayLike | None
"""How often each trial counts; None for once."""


WEIGHT = "sample_weight"


def target_label(classes: Array, pos_label: object = None) -> object:
    """The label of the targets: as given, or the last in sorted order unless the words say otherwise.

    Examples
    --------
    >>> target_label(np.array([0, 1])), target_label(np.array(["bonafide", "spoof"]), "bonafide")
    (np.int64(1), np.str_('bonafide'))
    >>> target_label(np.array(["bonafide", "spoof"]))
    Traceback (most recent call last):
    llrkit.errors.LabelError: classes_[1] would be the target, but 'spoof' means a non-target ...
    """
    if pos_label is not None:
        # A label of the array itself, of its type, so that comparisons with y work.
        same = [label for label in classes if label == pos_label]
        if not same:
            raise errors.LabelError(f"pos_label={pos_label!r} is none of the labels {list(classes.tolist())}")
        return same[0]
    if classify_words([str(label) for label in classes]) == [True, False]:
        # a decision function that speaks for the non-target is a surprise unless it was asked for
        raise errors.LabelError(
            f"classes_[1] would be the target, but {classes[1].item()!r} means a non-target and "
            f"{classes[0].item()!r} a target: say so with pos_label={classes[0].item()!r} (transform gives "
            "LLRs in favor of it, decision_function in favor of classes_[1])"
        )
    return classes[1]


def weighted_scores(X: Array, is_target: BoolArray, sample_weight: Weights = None) -> ScoreSource:
    """The trials of scores and labels, each counting as often as its weight says.

    Examples
    --------
    >>> X, is_target = np.array([2.0, 1.0, -1.0]), np.array([True, False, False])
    >>> weighted_scores(X, is_target)
    Scores(1 target, 2 nontarget trials)
    >>> weighted_scores(X, is_target, [1.0, 0.0, 1.0])
    Scores(1 target, 1 nontarget trials)
    """
    if sample_weight is None:
        return Scores.from_classes(X[is_target], X[~is_target])
    weights = validation._check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    # scikit-learn asks that a trial of weight 0 is as if it were not there, also for classes and ranges.
    counted = weights > 0.0
    X, is_target, weights = X[counted], is_target[counted], weights[counted]
    if is_target.all() or not is_target.any():
        raise ValueError("Only one class is left without the trials of weight 0; two classes are needed.")
    column = {WEIGHT: (weights[is_target], weights[~is_target])}
    scores = Scores.from_classes(X[is_target], X[~is_target], column)
    # Weights that are all 1 must give the very same fit as none.
    return scores.with_columns() if (weights == 1.0).all() else WeightedSource(scores, WEIGHT)


SAFEGUARD = 0.01
"""Regularization where the classes do not overlap."""
SINGULAR = (errors.TooFewTrialsError, errors.ConstantScoreError)
CURED_BY = {"regularization": (errors.SeparationError,), "shrinkage": SINGULAR}
"""Faults of the trials that a little of an option cures."""


class LLRMethods(TransformerMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What follows from LLRs in favor of the target class: decisions, posteriors and their signs."""

    prior: float
    pos_label: object
    classes_: Array
    target_: object

    @abstractmethod
    def _llr(self, X: npt.ArrayLike) -> FloatArray:
        """LLRs in favor of the target class, shape (n,)."""

    @property
    def _target_is_last(self) -> bool:
        return bool(self.target_ == self.classes_[1])

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """LLRs in favor of ``classes_[1]``, shape (n,).

        These are the LLRs of ``transform`` unless ``pos_label`` is ``classes_[0]``: scikit-learn wants
        positive values to speak for ``classes_[1]``, so they change their sign then.
        """
        llr = self._llr(X)
        return llr if self._target_is_last else -llr

    def transform(self, X: npt.ArrayLike) -> Array:
        """LLRs in favor of the target class, shape (n, 1)."""
        return self._llr(X)[:, None]

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Posterior probabilities of the two classes, in the order of ``classes_``, at ``prior``."""
        target = sigmoid(self._llr(X) + logit(self.prior))
        # 1 - target: the two columns sum to 1 exactly.
        both = [1.0 - target, target]
        return np.column_stack(both if self._target_is_last else both[::-1])

    def predict(self, X: npt.ArrayLike) -> Array:
        """The class with the higher posterior at ``prior``; ``classes_[0]`` where both are equal."""
        for_last = self.decision_function(X)
        # decision_function speaks for the last class, whose prior is one minus that of the target
        # otherwise.
        threshold = -logit(self.prior) if self._target_is_last else logit(self.prior)
        return np.asarray(self.classes_[(for_last > threshold).astype(int)])

    def __sklearn_tags__(self) -> SklearnObject:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> Array:
        """The name of the one column that ``transform`` gives."""
        validation.check_is_fitted(self)
        return np.array(["llr"], dtype=object)

    def _learn_classes(self, y: Array) -> None:
        """Set ``classes_`` and ``target_`` of labels that must be of two kinds."""
        # Before np.unique: labels that are numbers with fractions are refused in scikit-learn's own
        # words.
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) < 2:
            raise ValueError("Only one class is present in y; two classes are needed.")
        probability(self.prior, "prior")
        self.target_ = target_label(self.classes_, self.pos_label)


class Calibrator(LLRMethods):
    """What the calibrators share; a subclass says how one score is calibrated and what its options are."""

    @abstractmethod
    def _fit_map(self, scores: ScoreSource) -> Map:
        """Calibrate the scores of one system."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Weights = None) -> Self:
        """Fit the calibration.

        Parameters
        ----------
        X
            Scores, one column per system; higher means more target-like.
        y
            Labels of two kinds. The target is ``pos_label``, by default ``classes_[1]``, the label that comes
            last in sorted order.
        sample_weight
            How often each trial counts; at most 1,000 different weights.
        """
        scores, labels = validate_data(self, X, y, dtype=np.float64)
        self._learn_classes(labels)
        with warnings.catch_warnings():
            # Shapes are judged where a user asks for a fit, not in every fold of a search.
            warnings.simplefilter("ignore", errors.ShapeWarning)
            self.map_ = self._fit_columns(weighted_scores(scores, labels == self.target_, sample_weight))
        return self

    def _fit_columns(self, scores: ScoreSource) -> Map:
        if scores.roles.n_systems == 1:
            return self._fit_safely(scores)
        try:
            fusion = fit_fusion(scores)
        except errors.SeparationError:
            # the fused scores of classes that do not overlap have no shape that could be learned
            return with_safeguard(fit_fusion, scores)
        # In memory at once where it can be: a second fit reads the fused scores several times.
        first = fusion(scores) if isinstance(scores, Scores) else fusion.on(scores)
        return fusion.then(self._fit_safely(first))

    def _fit_safely(self, scores: ScoreSource) -> Map:
        try:
            return self._fit_map(scores)
        # Searches try folds with few or separable trials, and an exception would end the whole search.
        except (errors.SeparationError, errors.TooFewTrialsError, errors.ConstantScoreError) as error:
            warn_caller(f"{error}; regularized logistic regression is used instead", errors.LlrkitWarning)
            # At the prior of the estimator, like the fit that failed.
            return fit_logistic(scores, prior=self.prior, regularization=SAFEGUARD)

    def _llr(self, X: npt.ArrayLike) -> FloatArray:
        validation.check_is_fitted(self)
        scores: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        # A map of one system takes a vector; scores outside of the training range are usual in searches.
        return np.asarray(self.map_(scores if scores.shape[1] > 1 else scores[:, 0], outside="ignore"))


def with_safeguard(fit: Callable[..., M], trials: object, **options: object) -> M:
    """Fit trials of any number of classes, with a little of what cures trials that have no best fit.

    That is regularization if the classes do not overlap, and shrinkage for a fit that has this option if a
    covariance matrix has no inverse.
    """
    # Fits that have shrinkage are Gaussian back-ends: a singular covariance is what can go wrong with
    # them.
    cure = "shrinkage" if "shrinkage" in options else "regularization"
    try:
        return fit(trials, **options)
    except CURED_BY[cure] as error:
        warn_caller(f"{error}; fitted with {cure}={SAFEGUARD}", errors.LlrkitWarning)
        asked = options.get(cure, 0.0)
        # Never less than was asked for.
        least = max(float(asked), SAFEGUARD) if isinstance(asked, SupportsFloat) else SAFEGUARD
        return fit(trials, **{**options, cure: least})


_MOST_COPIES = 100_000
"""Weights that are whole numbers are so many copies, up to this many trials."""
_FEW = 10
"""Trials for each dimension, up to which their order must not choose among the best fits."""


class ClassCalibrator(TransformerMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """The scikit-learn contract around a map of several classes; a subclass says which fit it is."""

    prior: Prior

    @abstractmethod
    def _fit_map(self, trials: ClassVectors, prior: Prior) -> ClassMap:
        """Fit trials that are scores or vectors."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Weights = None) -> Self:
        """Fit the calibration.

        Parameters
        ----------
        X
            Log-likelihoods or logits, one column per class in the order of ``classes_``, or vectors.
        y
            The label of each trial.
        sample_weight
            How often each trial counts; at most 1,000 different weights.
        """
        values, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError("Only one class is present in y; at least two classes are needed.")
        values, codes, columns = _weighted_class_trials(values, codes, sample_weight)
        if len(values) <= _FEW * values.shape[1]:
            # Trials too few for their dimensions have many best fits, and their order decides which is found:
            # by all columns and the class it depends on the trials alone.
            order = np.lexsort([codes, *values.T])
            values, codes = values[order], codes[order]
            columns = {name: column[order] for name, column in columns.items()}
        # Numbers as names: labels may be of any type, maps have names as texts.
        names = tuple(map(str, range(len(self.classes_))))
        # With weights these are sums of weights.
        n = np.bincount(codes, columns.get(WEIGHT), len(names))
        if not n.all():
            empty = self.classes_[int(n.argmin())]
            raise ValueError(f"All trials of class {empty.item()!r} have weight 0; every class needs some.")
        # ``counts`` means shares of the weights.
        prior = class_prior(self.prior, ClassCounts(names, n))
        self.log_prior_ = np.log(prior)
        self.map_ = self._fit_map(ClassVectors(values, codes, names, columns=columns), prior.tolist())
        return self

    def transform(self, X: npt.ArrayLike) -> Array:
        """Log-likelihoods, shape (n, K)."""
        validation.check_is_fitted(self)
        return np.asarray(self.map_(validate_data(self, X, dtype=np.float64, reset=False)))

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Posterior probabilities at ``prior``."""
        return posteriors(self.transform(X), self.log_prior_)

    def predict(self, X: npt.ArrayLike) -> Array:
        """The class with the highest posterior at ``prior``."""
        loglik = self.transform(X)
        return np.asarray(self.classes_[(loglik + self.log_prior_).argmax(axis=1)])

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> Array:
        """Names of the columns that ``transform`` gives."""
        validation.check_is_fitted(self)
        return np.array([f"loglik_{name}" for name in self.classes_], dtype=object)


def _weighted_class_trials(
    X: Array, codes: IntArray, sample_weight: Weights
) -> tuple[Array, IntArray, dict[str, FloatArray]]:
    """The trials that count, and the column with their weights if they are not repeated as often."""
    if sample_weight is None:
        return X, codes, {}
    weights: FloatArray = validation._check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    # Whole weights as copies, so that both give the same fit (docs/notes/decisions-interfaces.md).
    if weights.sum() <= max(len(weights), _MOST_COPIES) and (weights == np.floor(weights)).all():
        times = weights.astype(np.int64)
        return X.repeat(times, axis=0), codes.repeat(times), {}
    counted = weights > 0.0
    return X[counted], codes[counted], {WEIGHT: weights[counted]}


def counted(trials: ClassVectors) -> ClassSource:
    """The trials as often as they count."""
    return WeightedClasses(trials, WEIGHT) if WEIGHT in trials.columns else trials


PRIOR = "Prior probability of the target{}; ``predict`` and ``predict_proba`` apply it."
POS_LABEL = "The label of the targets; by default that which comes last in sorted order."
CLASS_PRIOR = """\
Prior probabilities of the classes{}: ``"flat"``, ``"counts"`` or one for each, in the order of ``classes_``;
``predict`` and ``predict_proba`` apply it."""


def calibrator_of(
    name: str, method: str, summary: str, *, at_prior: bool = False, without: tuple[str, ...] = ()
) -> type[Calibrator]:
    """The estimator of a method that fits one score, by its name.

    Parameters
    ----------
    summary
        What it is, in a few words.
    at_prior
        Whether the fit is made for a prior of the target, and gets that of the estimator.
    without
        Options of the fit that an array of scores cannot serve: columns of a table, say.
    """

    fit = METHODS[method]

    def _fit_map(self: Calibrator, scores: ScoreSource) -> Map:
        # Read at fit time: set_params may have changed them.
        asked = {key: getattr(self, key) for key in options}
        return fit(scores, **asked, **({"prior": self.prior} if at_prior else {}))

    shared: dict[str, tuple[str, object, str]] = {
        "prior": ("float", 0.5, PRIOR.format(", in the fit too" if at_prior else "")),
        "pos_label": ("object", None, POS_LABEL),
    }
    summary = f"{summary}; see :func:`llrkit.fits.{fit.__name__}`."
    options, body = _options_and_constructor(fit, summary, shared, without)
    return type(name, (Calibrator,), {**body, "_fit_map": _fit_map})


def class_calibrator_of(
    name: str, fit: Callable[..., ClassMap], summary: str, *, of_vectors: bool = False
) -> type[ClassCalibrator]:
    """The estimator of a fit of several classes.

    Parameters
    ----------
    summary
        What it is, in a few words.
    of_vectors
        Whether the fit takes vectors as they are; for others they become scores first.

    Examples
    --------
    >>> from llrkit.multiclass.fits import fit_scale_offset
    >>> Scaling = class_calibrator_of("Scaling", fit_scale_offset, "One scale, and an offset for each class")
    >>> X = [[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [0.1, 0.0, 2.0], [0.0, 1.0, 1.2], [1.0, 1.5, 0.0]]
    >>> Scaling(regularization=0.1).fit(X, [0, 1, 2, 1, 0]).predict(X).tolist()
    [0, 1, 2, 1, 0]
    """
    # Gaussian back-ends have weights of the classes in place of a prior.
    at_prior = "prior" in inspect.signature(fit).parameters

    def _fit_map(self: ClassCalibrator, trials: ClassVectors, prior: Prior) -> ClassMap:
        asked = {key: getattr(self, key) for key in options} | ({"prior": prior} if at_prior else {})
        if of_vectors:
            return with_safeguard(fit, counted(trials), **asked)
        # Vectors that are no scores of the classes become such by an affine map first.
        scores, first = trials.values, None
        if scores.shape[1] != len(trials.classes):
            first = with_safeguard(fit_affine, counted(trials), prior=prior)
            scores = first(scores)
        loglik = ClassScores.part(scores, trials.codes, trials.classes, trials.columns)
        fitted = with_safeguard(fit, counted(loglik), **asked)
        return fitted if first is None else first.then(fitted)

    shared: dict[str, tuple[str, object, str]] = {
        "prior": ("Prior", "flat", CLASS_PRIOR.format(", in the fit too" if at_prior else ""))
    }
    summary = f"{summary}; see :func:`llrkit.multiclass.{fit.__name__}`."
    # Before _fit_map is called, which finds ``options`` by closure.
    options, body = _options_and_constructor(fit, summary, shared)
    return type(name, (ClassCalibrator,), {**body, "_fit_map": _fit_map})


def _options_and_constructor(
    fit: Callable[..., object],
    first_line: str,
    shared: dict[str, tuple[str, object, str]],
    without: tuple[str, ...] = (),
) -> tuple[list[str], dict[str, object]]:
    """The options of a fit, and a constructor with docstring: they come first, then those that are shared.

    scikit-learn clones an estimator by the signature of its constructor, so that is set here: a fit declares
    its options once, with their defaults and descriptions, and no estimator repeats them.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    options = [
        one.replace(kind=kind)
        for key, one in inspect.signature(fit).parameters.items()
        if one.kind is inspect.Parameter.KEYWORD_ONLY and key not in ("prior", *without)
    ]
    parameter = partial(inspect.Parameter, kind=kind)
    ours = [parameter(key, default=value, annotation=hint) for key, (hint, value, _) in shared.items()]
    signature = inspect.Signature([inspect.Parameter("self", kind), *options, *ours], return_annotation=None)

    def take_options(self: object, *given: object, **named: object) -> None:
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        # Without self. Stored as given: scikit-learn compares by identity when it clones.
        for key, value in list(bound.arguments.items())[1:]:
            setattr(self, key, value)

    setattr(take_options, "__signature__", signature)  # noqa: B010 - mypy knows no such attribute of functions
    entries = [(one.name, option_text(fit, one.name)) for one in options]
    entries += [(key, text) for key, (_, _, text) in shared.items()]
    listed = "\n".join(f"{key}\n{indent(text, '    ')}" for key, text in entries)
    body = {"__init__": take_options, "__doc__": f"{first_line}\n\nParameters\n----------\n{listed}\n"}
    return [one.name for one in options], {**body, "__module__": __name__}


def option_text(fit: Callable[..., object], key: str) -> str:
    """What the docstring of a fit says of an option.

    Examples
    --------
    >>> from llrkit.fits.heavy_tails import fit_tied_nig
    >>> option_text(fit_tied_nig, "alpha")
    'Weight of the targets (:term:`alpha`), strictly between 0 and 1.'
    """
    text = inspect.getdoc(fit) or ""
    # An entry of a numpydoc section; several options may share one.
    entry = re.search(rf"^(?:\w+, )*{key}(?:, \w+)*\n((?:(?: {{4}}.*)?\n)+)", text + "\n", re.MULTILINE)
    return dedent(entry.group(1)).strip() if entry else ""


TemperatureScaling = class_calibrator_of("TemperatureScaling", fit_temperature, "One scale for all classes")
ScaleOffsetScaling = class_calibrator_of(
    "ScaleOffsetScaling", fit_scale_offset, "One scale, and an offset for each class"
)
VectorScaling = class_calibrator_of("VectorScaling", fit_vector, "A scale and an offset for each class")
AffineScaling = class_calibrator_of(
    "AffineScaling", fit_affine, "Multinomial logistic regression of scores or vectors", of_vectors=True
)
GaussianBackEnd = class_calibrator_of(
    "GaussianBackEnd", fit_gaussian_classes, "A Gaussian for each class", of_vectors=True
)


class CMLGCalibrator(Calibrator):
    """CMLG: closed form from means and (co)variances; see :func:`llrkit.fit_cmlg`.

    Parameters
    ----------
    alpha
        Weight of the targets in the common variance, from 0 to 1; the non-targets have ``1 - alpha``.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.

    Examples
    --------
    >>> CMLGCalibrator().fit([[2.0], [4.0], [0.0], [2.0]], [1, 1, 0, 0]).decision_function([[3.0]])
    array([2.])
    """

    def __init__(self, alpha: float = 0.5, prior: float = 0.5, pos_label: object = None) -> None:
        self.alpha = alpha
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_cmlg(scores, alpha=self.alpha)

    def _fit_columns(self, scores: ScoreSource) -> Map:
        if scores.roles.n_systems == 1:
            return self._fit_map(scores)
        try:
            return fit_fusion(scores, method="gaussian", alpha=self.alpha)
        except errors.InputError as error:  # columns that are functions of each other
            warn_caller(f"{error}; the columns are fused by logistic regression first", errors.LlrkitWarning)
            return super()._fit_columns(scores)


class LogisticCalibrator(Calibrator):
    """Prior-weighted logistic regression; see :func:`llrkit.fit_logistic`.

    Parameters
    ----------
    prior
        Prior probability of the target, in the fit too; ``predict`` and ``predict_proba`` apply it.
    robust
        Weight of a mislabeled copy of every trial, for instance 0.001; 0 for none.
    regularization
        How strongly LLRs are drawn to 0: not at all by default; 0.01 is a numerical safeguard.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(
        self, prior: float = 0.5, robust: float = 0.0, regularization: float = 0.0, pos_label: object = None
    ) -> None:
        self.prior = prior
        self.robust = robust
        self.regularization = regularization
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        # _fit_safely of the base class would replace the fit by another; here the safeguard is part of
        # the fit.
        return self._fit_columns(scores)

    def _fit_columns(self, scores: ScoreSource) -> Map:
        options = {"prior": self.prior, "robust": self.robust, "regularization": self.regularization}
        fit: Callable[..., Map] = fit_logistic if scores.roles.n_systems == 1 else fit_fusion
        return with_safeguard(fit, scores, **options)


class RuleCalibrator(Calibrator):
    """Affine calibration by another scoring rule; see :func:`llrkit.fits.fit_rule`.

    Parameters
    ----------
    rule
        A proper scoring rule: ``"brier"``, ``"boosting"`` or another that :func:`llrkit.fits.fit_rule` takes.
    prior
        Prior probability of the target, in the fit too; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(
        self,
        rule: ScoringRule | str | tuple[float, float] = "brier",
        prior: float = 0.5,
        pos_label: object = None,
    ) -> None:
        self.rule = rule
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_rule(scores, rule=self.rule, prior=self.prior)

    def _fit_columns(self, scores: ScoreSource) -> Map:
        if scores.roles.n_systems == 1:
            return self._fit_safely(scores)
        try:
            fit = fit_linear(scores, prior=self.prior, rule=scoring_rule(self.rule))
        # Where a rule has no finite optimum, the columns are fused by logistic regression first.
        except errors.SeparationError:
            return super()._fit_columns(scores)
        names = list(scores.roles.score)
        return LinearMap(weights=fit.slopes, offset=fit.offset, systems=names, method="rule")


PAVCalibrator = calibrator_of("PAVCalibrator", "pav", "Pool adjacent violators")
SaturatingCalibrator = calibrator_of(
    "SaturatingCalibrator", "saturating", "Logistic regression with saturating ends", at_prior=True
)
ExpectationCalibrator = calibrator_of("ExpectationCalibrator", "expectation", "Solves <r> = 1 and <1/r> = 1")
GaussianCalibrator = calibrator_of("GaussianCalibrator", "gaussian", "Two Gaussians with free variances")
StudentTCalibrator = calibrator_of("StudentTCalibrator", "student-t", "Two Student t densities")
NIGCalibrator = calibrator_of("NIGCalibrator", "nig", "Two normal-inverse-Gaussian densities")
TiedNIGCalibrator = calibrator_of(
    "TiedNIGCalibrator", "tied-nig", "Tied normal-inverse-Gaussian densities, affine"
)
MixtureCalibrator = calibrator_of(
    "MixtureCalibrator", "mixture", "A mixture of calibrated Gaussian pairs, affine"
)
GammaCalibrator = calibrator_of("GammaCalibrator", "gamma", "The gamma pair, affine")
KDECalibrator = calibrator_of("KDECalibrator", "kde", "Kernel density estimates")
BayesCalibrator = calibrator_of(
    "BayesCalibrator", "bayes", "Gaussian scores with the parameters integrated out"
)
BiGaussianCalibrator = calibrator_of("BiGaussianCalibrator", "bigaussian", "Bi-Gaussianized calibration")
UnsupervisedCalibrator = calibrator_of(
    "UnsupervisedCalibrator",
    "unsupervised",
    "Two Gaussians fitted without the labels",
    without=("supervised",),  # a column of a table
)


def scores_for_last(estimator: SklearnObject, X: object) -> FloatArray:
    """Scores that speak for ``classes_[1]``."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    if not hasattr(estimator, "predict_proba"):
        raise errors.InputError(f"{type(estimator).__name__} has neither decision_function nor predict_proba")
    posterior = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1]
    # Log-odds: a probability has no room for more than certainty.
    return np.asarray(logit(posterior))


class LLRClassifierCV(LLRMethods):
    """A classifier of any kind whose scores are calibrated to LLRs by cross-fitting.

    Each fold is scored by a classifier that has not seen it; the calibrator is fitted on these scores, and
    the classifier once more on all trials. ``transform`` gives LLRs in favor of the target,
    ``predict_proba`` posteriors at ``prior``.

    Parameters
    ----------
    estimator
        A classifier with ``decision_function`` or ``predict_proba``; by default ``LogisticRegression()``.
    calibrator
        A calibrator of ``sklearn``; by default ``LogisticCalibrator()`` at ``prior``.
    cv
        The folds: their number (5 by default), or a splitter of scikit-learn. With a number and ``groups``
        given to ``fit``, no group is in two folds.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    n_jobs
        Folds that are fitted at a time, as in scikit-learn.

    Attributes
    ----------
    estimator_, calibrator_
        The classifier fitted on all trials, and the calibrator of its scores.
    classes_, target_
        The two labels in sorted order, and that of the targets.
    scores_
        Out-of-fold scores in the order of the trials, which the calibrator was fitted on.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> rng = np.random.default_rng(1)
    >>> y = rng.random(600) < 0.3
    >>> X = rng.normal(size=(600, 2)) + 1.5 * y[:, None]
    >>> model = LLRClassifierCV(LinearSVC()).fit(X, y)
    >>> model.transform([[0.75, 0.75]]).round(1)  # as likely under either class
    array([[0.1]])
    """

    def __init__(
        self,
        estimator: SklearnObject = None,
        calibrator: SklearnObject = None,
        *,
        cv: SklearnObject = None,
        prior: float = 0.5,
        pos_label: object = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.prior = prior
        self.pos_label = pos_label
        self.n_jobs = n_jobs

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: Weights = None,
        groups: npt.ArrayLike | None = None,
        **fit_params: object,
    ) -> Self:
        """Fit classifier and calibration.

        Parameters
        ----------
        X, y
            Whatever the classifier takes, and labels of two kinds.
        sample_weight
            How often each trial counts: for the calibration, and for the classifier if its ``fit`` takes it.
        groups
            What each trial belongs to (a speaker, a case): trials of one group are never on both sides.
        **fit_params
            More for ``fit`` of the classifier; with metadata routing, whatever parts have asked for.
        """
        if y is None:
            raise ValueError("LLRClassifierCV requires y to be passed, but the target y is None")
        # indexable keeps data frames and sparse matrices as they are: the classifier decides what it
        # takes.
        rows, given_labels = validation.indexable(X, y)
        labels: Array = validation.column_or_1d(given_labels, warn=True)
        if sample_weight is not None:
            sample_weight = validation._check_sample_weight(sample_weight, rows)
        self._learn_classes(labels)
        of_classifier, of_folds = self._routed(sample_weight, groups, fit_params)
        folds = list(self._splitter(groups).split(rows, labels, **of_folds))
        times = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(labels))
        # A trial that is scored never or twice would have no out-of-fold score, or the last of two.
        if not (times == 1).all():
            once = "every trial must be in the test set of exactly one fold"
            raise errors.InputError(f"{once}; use a splitter that does so")
        scored = Parallel(n_jobs=self.n_jobs)(
            # Cloned for each fold, so that no fold sees what another has learned.
            delayed(_score_fold)(clone(self._classifier), rows, labels, train, test, of_classifier)
            for train, test in folds
        )
        self.scores_ = np.empty(len(labels))
        for (_, test), scores in zip(folds, scored, strict=True):
            # Calibrators take scores that speak for the target.
            self.scores_[test] = scores if self._target_is_last else -scores
        # On all trials: the folds were only for scores that the calibrator can trust.
        self.estimator_ = clone(self._classifier).fit(rows, labels, **of_classifier)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        given = LogisticCalibrator(prior=self.prior) if self.calibrator is None else self.calibrator
        # Labels are 0 and 1 by now, whatever they were before.
        self.calibrator_ = clone(given).set_params(pos_label=1)
        self.calibrator_.fit(self.scores_[:, None], (labels == self.target_).astype(int), sample_weight)
        return self

    def _llr(self, X: npt.ArrayLike) -> FloatArray:
        validation.check_is_fitted(self)
        scores = scores_for_last(self.estimator_, X)
        oriented = scores if self._target_is_last else -scores
        return np.asarray(self.calibrator_.transform(oriented[:, None]))[:, 0]

    @property
    def _own_splitter(self) -> bool:
        return self.cv is None or isinstance(self.cv, (int, np.integer))

    @property
    def _classifier(self) -> SklearnObject:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _splitter(self, groups: npt.ArrayLike | None) -> SklearnObject:
        if not self._own_splitter:
            return check_cv(self.cv)
        folds = 5 if self.cv is None else int(self.cv)
        return StratifiedKFold(folds) if groups is None else StratifiedGroupKFold(folds)

    def _routed(
        self, sample_weight: Weights, groups: npt.ArrayLike | None, more: dict[str, object]
    ) -> tuple[dict[str, object], dict[str, object]]:
        """What ``fit`` of the classifier and ``split`` of the folds are given."""
        given = {"sample_weight": sample_weight, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given, **more)
            return routed.estimator.fit, routed.splitter.split
        weights: dict[str, object] = {}
        # Without metadata routing a classifier is given weights only if its fit takes them.
        if sample_weight is not None and validation.has_fit_parameter(self._classifier, "sample_weight"):
            weights = {"sample_weight": sample_weight}
        return weights | more, {} if groups is None else {"groups": groups}

    def get_metadata_routing(self) -> SklearnObject:
        """What scikit-learn's metadata routing hands to the classifier, the folds and the calibration."""
        # The splitter with groups stands for both, so that groups can be routed to it.
        splitter = StratifiedGroupKFold() if self._own_splitter else self.cv
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(estimator=self._classifier, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> SklearnObject:
        tags = super().__sklearn_tags__()
        # Sparse input is accepted if the classifier accepts it.
        tags.input_tags.sparse = get_tags(self._classifier).input_tags.sparse
        return tags


def _score_fold(
    classifier: SklearnObject, X: object, y: Array, train: Array, test: Array, more: dict[str, object]
) -> FloatArray:
    """Scores of the trials of a fold by a classifier fitted on the others."""
    if len(np.unique(y[train])) < 2:
        raise errors.InputError("a fold leaves only one class to train on: use fewer folds (cv)")
    # sample_weight and the like are cut to the fold, anything else is handed on.
    given = validation._check_method_params(X, params=more, indices=train)
    classifier.fit(_safe_indexing(X, train), y[train], **given)
    return scores_for_last(classifier, _safe_indexing(X, test))
