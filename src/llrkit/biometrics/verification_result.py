"""VerificationRates: error rates at given false match rates, as data, as a table and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from llrkit._format import counted
from llrkit._plain import Json
from llrkit.biometrics.failures import FailureCounts
from llrkit.biometrics.rules_of_thumb import ENOUGH_ERRORS, support
from llrkit.errors import UnknownNameError
from llrkit.metrics.threshold_choice import Range


def name_of_rate(rate: float) -> str:
    """What the FNMR at an FMR is called: FMR1000 at one in a thousand, ZeroFMR at none.

    Examples
    --------
    >>> name_of_rate(1e-3), name_of_rate(0.0), name_of_rate(0.03)
    ('FMR1000', 'ZeroFMR', 'FNMR at FMR 0.03')
    """
    if rate == 0.0:
        return "ZeroFMR"
    one_in = 1.0 / rate
    power_of_ten = abs(one_in - round(one_in)) < 1e-6 * one_in and str(round(one_in)).strip("0") == "1"
    return f"FMR{round(one_in)}" if power_of_ten and one_in > 1.5 else f"FNMR at FMR {rate:g}"


@dataclass(frozen=True)
class RatesAtFmr:
    """The errors at the threshold for one FMR."""

    wanted: float
    """The FMR that was asked for."""
    threshold: float
    """Comparisons with a score of at least this match."""
    threshold_interval: Range | None
    """Thresholds that the comparisons cannot tell from it."""
    fmr: float
    """False match rate on these comparisons."""
    fnmr: float
    """False non-match rate on these comparisons."""
    n_false_matches: float
    """Number of false matches."""
    n_false_nonmatches: float
    """Number of false non-matches."""
    fnmr_interval: Range | None
    """Interval of the FNMR; None if there is none."""
    no_interval: str
    """Why there is no interval, if there is none."""
    fnmr_bound: float
    """One-sided upper bound of the FNMR at the threshold."""
    fmr_bound: float
    """One-sided upper bound of the FMR at the threshold."""
    factor: float = 1.0
    """What scores of the file were multiplied by: -1 for distances."""

    @property
    def tar(self) -> float:
        """True accept (or match) rate: 1 - FNMR."""
        return 1.0 - self.fnmr

    @property
    def name(self) -> str:
        """What the FNMR at this FMR is called, FMR1000 say."""
        return name_of_rate(self.wanted)

    @property
    def in_file(self) -> float:
        """The threshold for the numbers that the file holds."""
        return self.threshold / self.factor

    @property
    def in_file_interval(self) -> Range | None:
        """Its interval for the numbers that the file holds."""
        if self.threshold_interval is None:
            return None
        low, high = sorted(end / self.factor for end in self.threshold_interval)
        return low, high

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain = asdict(self) | {"name": self.name, "tar": self.tar, "threshold": self.in_file}
        plain["threshold_interval"] = self.in_file_interval
        del plain["factor"]
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


@dataclass(frozen=True, repr=False)
class VerificationRates:
    """The result of :func:`llrkit.biometrics.verification_rates`."""

    rows: tuple[RatesAtFmr, ...]
    """The errors at each FMR that was asked for."""
    n_mated: int
    """Number of mated comparisons."""
    n_nonmated: int
    """Number of non-mated comparisons."""
    eer: float
    """On the interpolated ROC."""
    zero_fnmr: float
    """The lowest FMR without any false non-match."""
    failures: FailureCounts | None
    """Comparisons without a score, if they were marked."""
    level: float
    """Confidence level of the intervals."""
    n_subjects: int | None
    """Number of subjects; None if comparisons are taken as independent."""

    def __getitem__(self, name: str) -> RatesAtFmr:
        """By name: FMR100, FMR1000, ZeroFMR."""
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownNameError(f"{name!r} was not asked for; there are {[row.name for row in self.rows]}")

    @property
    def rate_words(self) -> tuple[str, str]:
        """What the rates of false matches and of false non-matches are called."""
        return ("FMR", "FNMR") if self.failures is None else ("FAR", "FRR")

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "rates": [row.to_dict() for row in self.rows],
            "n_mated": self.n_mated, "n_nonmated": self.n_nonmated, "eer_roc": self.eer,
            "zero_fnmr": self.zero_fnmr, "n_subjects": self.n_subjects, "level": self.level,
            "failures": None if self.failures is None else self.failures.to_dict(),
            "notes": self.notes,
        }  # fmt: skip

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows: the rate asked for, its threshold, both rates, and what they rest on."""
        fmr, fnmr = self.rate_words
        header = [fmr, "threshold", "", fnmr, "", "TAR", "false matches", f"{fmr} below", f"{fnmr} below",
                  "false non-matches"]  # fmt: skip
        return header, [self._row(row) for row in self.rows]

    def _row(self, row: RatesAtFmr) -> list[str]:
        threshold = row.in_file_interval
        return [
            f"{row.wanted:g}", f"{row.in_file:.6g}",
            "" if threshold is None else f"[{threshold[0]:.4g}, {threshold[1]:.4g}]",
            small_rate(row.fnmr),
            "-" if row.fnmr_interval is None else " ".join(
                (f"[{small_rate(row.fnmr_interval[0])},", f"{small_rate(row.fnmr_interval[1])}]")
            ),
            small_rate(row.tar), support(row.n_false_matches, self.n_nonmated), small_rate(row.fmr_bound),
            small_rate(row.fnmr_bound), support(row.n_false_nonmatches, self.n_mated),
        ]  # fmt: skip

    @property
    def notes(self) -> list[str]:
        """What a reader must know about the rates."""
        level = f"{100 * self.level:g} %"
        kind = (
            "as if comparisons were independent, which they are not where they share subjects"
            if self.n_subjects is None
            else f"for {counted(self.n_subjects, 'subject')} whose comparisons depend on each other"
        )
        told = [f"intervals at {level} and one-sided upper bounds ('below') {kind}"]
        if self.n_subjects is not None:
            told.append("the rules of 3 and of 30 count comparisons as if they were independent")
        told += [f"{row.name}: {row.no_interval}" for row in self.rows if row.no_interval]
        few = [row.name for row in self.rows if row.n_false_matches < ENOUGH_ERRORS and not row.no_interval]
        if few:
            told.append(f"fewer than {ENOUGH_ERRORS} false matches stand behind {', '.join(few)}")
        return told + ([] if self.failures is None else [self.failures.sentence])

    def __repr__(self) -> str:
        header, rows = self.table()
        widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]
        lines = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
                 for line in (header, *rows)]  # fmt: skip
        return "\n".join(lines)


def small_rate(rate: float) -> str:
    """A rate with digits enough for rare errors.

    Examples
    --------
    >>> small_rate(0.0375), small_rate(2.13e-5), small_rate(0.0), small_rate(1.0)
    ('0.0375', '2.13e-05', '0', '1')
    """
    return f"{rate:.4g}" if rate >= 1e-3 or rate == 0.0 else f"{rate:.2e}"
