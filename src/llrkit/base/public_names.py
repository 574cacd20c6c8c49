"""Where each public name is, and what to say of a name that ``llrkit`` does not have."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from llrkit import errors
from llrkit.base.text import table_beside

PACKAGE = Path(__file__).parents[1]
FILLED_FROM_THE_TOP = ("errors", "fits", "maps", "metrics", "scores", "trust")
"""Namespaces of names that ``llrkit`` itself once had; of namesakes, as in multiclass, theirs are meant."""
IMPORTED_BY_USERS = ("sklearn", "torch")
"""Rooms that need a package of their own and are therefore no attributes of ``llrkit``."""
VERBS = re.compile("^(compute|calculate|calc|get)")


def elsewhere() -> dict[str, str]:
    """What others call a thing, in small letters: where it is in ``llrkit``.

    Examples
    --------
    >>> elsewhere()["roc_auc_score"]
    'auc'
    """
    return dict(table_beside(__file__, "names_elsewhere.txt"))


def names_in(stub: Path) -> list[str]:
    """The names that a stub lists."""
    return re.findall(r"^from \.\S* import (\w+) as ", stub.read_text(encoding="utf-8"), re.MULTILINE)


def namespaces() -> dict[str, list[str]]:
    """The namespaces that are attributes of ``llrkit``, each with its public names.

    Examples
    --------
    >>> "fit_kde" in namespaces()["fits"], "InputError" in namespaces()["errors"]
    (True, True)
    """
    top = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8")
    spaces = {
        space: PACKAGE / space / "__init__.pyi" for space in re.findall(r"^from \. import (\w+)", top, re.M)
    }
    of_errors = [name for name, value in vars(errors).items() if isinstance(value, type)]  # has no stub
    return {space: of_errors if space == "errors" else names_in(stub) for space, stub in spaces.items()}


@cache
def _places() -> dict[str, list[str]]:
    """Public name -> where it is: at the top, or in one or more namespaces."""
    of_spaces = namespaces()
    # namespaces last: who writes lk.score means lk.Scores and not lk.scores
    top = sorted(names_in(PACKAGE / "__init__.pyi"), key=lambda name: name in of_spaces)
    places = {name: [name] for name in top}
    for space in sorted(of_spaces, key=lambda space: (space not in FILLED_FROM_THE_TOP, space)):
        for name in of_spaces[space]:
            if name not in top:
                places.setdefault(name, []).append(f"{space}.{name}")
    return places


def explain_missing(name: str) -> str:
    """One line about a name that ``llrkit`` does not have: where it is now, or what may be meant.

    Examples
    --------
    >>> print(explain_missing("fit_kde"))
    llrkit.fit_kde is now llrkit.fits.fit_kde
    >>> print(explain_missing("roc_auc_score"))
    llrkit has no 'roc_auc_score'; did you mean llrkit.auc?
    >>> print(explain_missing("computeMinDCF"))
    llrkit has no 'computeMinDCF'; did you mean llrkit.min_dcf?
    >>> print(explain_missing("confusion"))
    llrkit has no 'confusion'; did you mean llrkit.multiclass.confusion or llrkit.plot.confusion?
    """
    if name in IMPORTED_BY_USERS:
        return f"llrkit.{name} is there after 'import llrkit.{name}'"
    meant = _places().get(name, [])
    if meant and meant[0].split(".")[0] in FILLED_FROM_THE_TOP:
        return f"llrkit.{name} is now llrkit.{meant[0]}"
    meant = meant or _meant_by(name)
    if not meant:
        return f"llrkit has no {name!r}; dir(llrkit) lists what there is"
    return f"llrkit has no {name!r}; did you mean {' or '.join(f'llrkit.{place}' for place in meant)}?"


def _meant_by(name: str) -> list[str]:
    """The places of what another spelling, another library's word or a misspelling stands for."""
    from difflib import get_close_matches  # most names are right

    places = _places()
    known = {_plain(word): [place] for word, place in elsewhere().items()}
    known |= {_plain(name.removeprefix("fit_")): places[name] for name in places}  # kde is fit_kde
    known |= {_plain(name): places[name] for name in reversed(places)}  # of equals, the first counts
    # cut: difflib is slow on long texts
    close = get_close_matches(VERBS.sub("", _plain(name))[:100], known, n=1, cutoff=0.75)
    return known[close[0]] if close else []


def _plain(name: str) -> str:
    """Case and underscores make no difference: minDCF, min_Cllr, EER."""
    return name.lower().replace("_", "")
