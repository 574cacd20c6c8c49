from .failures import FailureCounts as FailureCounts
from .failures import fold_failures as fold_failures
from .failures import without_failures as without_failures
from .rates_result import RatesAtFmr as RatesAtFmr
from .rates_result import VerificationRates as VerificationRates
from .verification import verification_rates as verification_rates
