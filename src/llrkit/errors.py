"""Every exception and warning llrkit raises on purpose.

::

    LlrkitError                 base class; its message says what was wrong, where, and what is accepted
    ├── InputError              the data or an argument cannot be used (also a ValueError)
    │   ├── EmptyClassError     there are no target trials, or no non-target trials
    │   ├── NaNScoreError       a score is not a number
    │   ├── LabelError          the labels are not two classes
    │   └── FileFormatError     a file cannot be read; names file, line and column
    ├── UnknownNameError        a preset, method or column that does not exist (also a ValueError)
    └── UnconfirmedPresetError  a preset whose definition could not be confirmed, used without saying so
    LlrkitWarning               base class of the warnings
"""


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


class UnknownNameError(LlrkitError, ValueError):
    """A name was given that does not exist; the message lists those that do."""


class UnconfirmedPresetError(LlrkitError):
    """A preset whose definition could not be confirmed was used without saying so."""


class LlrkitWarning(UserWarning):
    """Base class of llrkit's warnings."""
