"""Every exception and warning llrkit raises on purpose.

::

    LlrkitError                 base class; its message says what was wrong, where, and what is accepted
    ├── InputError              the data or an argument cannot be used (also a ValueError)
    │   ├── EmptyClassError     there are no target trials, or no non-target trials
    │   ├── NaNScoreError       a score is NaN
    │   ├── LabelError          the labels are not two classes
    │   ├── FileFormatError     a file cannot be read; names file, line and column
    │   │   └── MapFileError    a calibration file is broken, or of a version that is not known
    │   ├── MemoryLimitError    reading would take more memory than may be used (LLRKIT_MAX_MEMORY)
    │   ├── FileChangedError    a file was changed or replaced while it was being read
    │   ├── InfiniteScoreError  an infinite score in a fit
    │   ├── ConstantScoreError  all scores are equal: there is nothing to calibrate
    │   ├── SeparationError     the classes do not overlap: the best slope is infinite
    │   ├── TooFewTrialsError   a class has too few trials for what is to be estimated
    │   ├── AdaptationError     unlabeled scores do not tell how a calibration is to be adapted
    │   ├── SystemCountError    scores of another number of systems than the map was made for
    │   ├── NotInvertibleError  the inverse of a map that has none
    │   └── OptionError         an option that does not exist or does not take its value (an
    │                           UnknownNameError, too)
    ├── UnknownNameError        a preset, method or column that does not exist (also a ValueError)
    ├── UnconfirmedPresetError  a preset whose definition could not be confirmed, used without saying so
    ├── ForkedProcessError      tables in a process that was forked after polars had been used
    ├── MissingPackageError     an optional package is not installed; the message says how to get it (also an
    │                           ImportError)
    └── ClusterError            a cluster cannot be reached, or was lost on the way (exit code 1)
    LlrkitWarning               base class of the warnings
    ├── PooledClassesWarning    labels of more than two kinds were taken as two classes
    ├── ShapeWarning            the scores do not look like what the method assumes
    │   ├── PoorFitWarning      and the map loses more on its training trials than it should
    │   └── NoOverlapWarning    the classes do not overlap, and the LLRs of the map have no bounds
    ├── ReversedScoresWarning   targets score below non-targets: is a higher score more target-like?
    ├── ScaleWarning            the scores look like probabilities, log10 LLRs or likelihood ratios
    ├── TrainingRangeWarning    scores lie outside the range that a calibration was trained on
    ├── ShiftWarning            scores are unlike those that a calibration was trained on
    ├── UnreadableWarning       files that could not be read were left out, as was asked for
    ├── LeftOutWarning          trials were left out, as was asked for
    │   └── MissingScoresWarning  those without a score, or they are rejected at every threshold
    ├── SpeechWarning           recordings or embeddings may not be what they are taken for
    ├── SkippedFilesWarning     a folder holds something that is not read: subfolders, links to nothing
    └── ChangedFileWarning      a calibration file was changed after it was saved, and accepted
"""

from typing import Self


class LlrkitError(Exception):
    """Base class: catch this to catch everything llrkit raises on purpose."""


class InputError(LlrkitError, ValueError):
    """The data or an argument cannot be used."""


class EmptyClassError(InputError):
    """One of the two classes has no trials."""


class NaNScoreError(InputError):
    """A score is not a number."""


class LabelError(InputError):
    """The labels are not two classes that can be told apart."""


class FileFormatError(InputError):
    """A file cannot be read as trials."""


class MapFileError(FileFormatError):
    """A calibration file is broken, or of a version that is not known."""


class MemoryLimitError(InputError):
    """Reading would take more memory than may be used."""


class FileChangedError(InputError):
    """A file was changed or replaced while it was being read."""


class InfiniteScoreError(InputError):
    """A fit was given an infinite score."""


class ConstantScoreError(InputError):
    """All scores are equal."""


class SeparationError(InputError):
    """The classes do not overlap, so the best slope is infinite."""


class TooFewTrialsError(InputError):
    """A class has too few trials for what is to be estimated."""


class AdaptationError(InputError):
    """Unlabeled scores do not show how to adapt a calibration; the message says why."""


class SystemCountError(InputError):
    """The scores are of another number of systems than expected."""


class NotInvertibleError(InputError):
    """The map has no inverse."""


class UnknownNameError(LlrkitError, ValueError):
    """A name was given that does not exist; the message lists those that do."""


class OptionError(InputError, UnknownNameError):
    """An option does not exist, does not take its value, or does not go with another.

    ``typed`` is the message for those who type options (``--level``); the text has their names in Python.
    """

    def __init__(self, message: str, typed: str = "") -> None:
        super().__init__(message)
        self.typed = typed or message


class UnconfirmedPresetError(LlrkitError):
    """A preset whose definition could not be confirmed needs ``allow_unconfirmed=True``."""


class ForkedProcessError(LlrkitError):
    """Tables cannot be used in a process that was forked after polars had been used."""


class MissingPackageError(LlrkitError, ImportError):
    """An optional package is not installed."""

    @classmethod
    def of_extra(cls, need: str, extra: str) -> Self:
        """With the line that installs the extra of llrkit that brings the package.

        Parameters
        ----------
        need
            What cannot be done without the package, in words.
        extra
            Name of the extra.

        Examples
        --------
        >>> print(MissingPackageError.of_extra("Word documents need python-docx", "docx"))
        Word documents need python-docx: pip install 'llrkit[docx]'
        """
        return cls(f"{need}: pip install 'llrkit[{extra}]'")


class ClusterError(LlrkitError):
    """A cluster cannot be reached, or was lost before the result was computed."""


class LlrkitWarning(UserWarning):
    """Base class of llrkit's warnings."""


class SpeechWarning(LlrkitWarning):
    """Recordings or embeddings look wrong; the message names them."""


class PooledClassesWarning(LlrkitWarning):
    """Labels of more than two kinds were taken as two classes."""


class ShapeWarning(LlrkitWarning):
    """The scores do not look like what the method assumes."""


class PoorFitWarning(ShapeWarning):
    """A map does worse on its own training trials than a constant, or than logistic regression."""


class NoOverlapWarning(ShapeWarning):
    """The classes do not overlap in the training scores, and the LLRs of the map have no bounds."""


class ReversedScoresWarning(LlrkitWarning):
    """Targets score below non-targets."""


class TrainingRangeWarning(LlrkitWarning):
    """Scores lie outside the range that a calibration was trained on."""


class ScaleWarning(LlrkitWarning):
    """The scores look like something else than LLRs in nats; nothing was converted."""


class UnreadableWarning(LlrkitWarning):
    """Files that could not be read were left out."""


class SkippedFilesWarning(LlrkitWarning):
    """A folder holds something that is not read."""


class LeftOutWarning(LlrkitWarning):
    """Trials were left out, as was asked for.

    Parameters
    ----------
    message
        What was left out and why.
    trials
        How many trials were left out.

    Examples
    --------
    >>> LeftOutWarning("a.csv: 2 of 3 trials occur before and are left out", 2).trials
    2
    """

    def __init__(self, message: str, trials: int = 0) -> None:
        super().__init__(message)
        self.trials = trials


class MissingScoresWarning(LeftOutWarning):
    """Trials without a score were left out, or are rejected at every threshold, as was asked for.

    Parameters
    ----------
    message
        What became of them.
    trials
        How many trials were left out; 0 if they are rejected.
    """


class ChangedFileWarning(LlrkitWarning):
    """A calibration file was changed after it was saved."""


class ShiftWarning(LlrkitWarning):
    """Scores are unlike those that a calibration was trained on, beyond another share of targets."""
