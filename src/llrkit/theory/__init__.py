"""Mathematics of calibrated likelihood ratios, without data.

Pairs of distributions that are calibrated by construction, what they imply (error rates, costs, Cllr), and
how calibrated Gaussian systems fuse. LLRs are in nats, Cllr in bits, ``x >= threshold`` accepts.
"""

from llrkit.theory.calibrated_pair import CalibratedPair, DetLine, MirrorLLR
from llrkit.theory.distribution import Distribution, Mirrored
from llrkit.theory.evidence import lr_moment, lr_variance, misleading_bound, misleading_bound_gaussian
from llrkit.theory.gamma_pair import GammaLLR, LogGamma
from llrkit.theory.gaussian_fusion import GaussianFusion, fuse_calibrated, fuse_moments
from llrkit.theory.gaussian_pair import GaussianLLR, cllr_from_eer, eer_from_cllr
from llrkit.theory.hyperbolic_pair import Hyperbolic, HyperbolicLLR
from llrkit.theory.jfunction import (
    cllr_from_sigma,
    information_from_sigma,
    sigma_from_cllr,
    sigma_from_cllr_approx,
)
from llrkit.theory.mixtures import DensityMixtureLLR, MixtureLLR
from llrkit.theory.normal_distributions import Normal, NormalMixture
from llrkit.theory.odds import (
    llr_from_posterior,
    log_odds,
    other_class_density,
    posterior,
    posterior_log_odds,
    probability_from_log_odds,
)
from llrkit.theory.operating_points import PRESETS, OperatingPoint, Preset, operating_point, preset
from llrkit.theory.plda_pair import PLDALLR, ChiSquareDifference
from llrkit.theory.tabulated_density import Axis, DensityDistribution
from llrkit.theory.tilting import TiltedLLR, tilt
from llrkit.theory.unequal_gaussians import MomentSolution, UnequalGaussians, moment_solution

__all__ = [
    "PLDALLR",
    "PRESETS",
    "Axis",
    "CalibratedPair",
    "ChiSquareDifference",
    "DensityDistribution",
    "DensityMixtureLLR",
    "DetLine",
    "Distribution",
    "GammaLLR",
    "GaussianFusion",
    "GaussianLLR",
    "Hyperbolic",
    "HyperbolicLLR",
    "LogGamma",
    "MirrorLLR",
    "Mirrored",
    "MixtureLLR",
    "MomentSolution",
    "Normal",
    "NormalMixture",
    "OperatingPoint",
    "Preset",
    "TiltedLLR",
    "UnequalGaussians",
    "cllr_from_eer",
    "cllr_from_sigma",
    "eer_from_cllr",
    "fuse_calibrated",
    "fuse_moments",
    "information_from_sigma",
    "llr_from_posterior",
    "log_odds",
    "lr_moment",
    "lr_variance",
    "misleading_bound",
    "misleading_bound_gaussian",
    "moment_solution",
    "operating_point",
    "other_class_density",
    "posterior",
    "posterior_log_odds",
    "preset",
    "probability_from_log_odds",
    "sigma_from_cllr",
    "sigma_from_cllr_approx",
    "tilt",
]
