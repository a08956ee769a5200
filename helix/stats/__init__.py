"""Intervals, corrections and agreement; what needs scipy or statsmodels loads it when called."""

from helix.stats.agreement import cohen_kappa, fleiss_kappa, gwet_ac1, krippendorff_alpha
from helix.stats.corrected import (
    Corrected,
    Predicted,
    best_split,
    clip,
    delta_interval,
    jeffreys_interval,
    known_interval,
    lang_reiczigel,
    ppi_mean,
    rogan_gladen,
    shifted,
)
from helix.stats.intervals import (
    Interval,
    Share,
    clustered_error,
    clustered_share,
    clustered_size,
    median_interval,
    wilson,
)
from helix.stats.paired import Difference, McNemar, mcnemar, paired_difference
from helix.stats.repeats import entropy, flip_interval, flip_rate, pass_at_k, pass_hat_k
from helix.stats.sizes import needed_for_width, needed_to_show, needed_to_tell

__all__ = [
    "Corrected",
    "Difference",
    "Interval",
    "McNemar",
    "Predicted",
    "Share",
    "best_split",
    "clip",
    "clustered_error",
    "clustered_share",
    "clustered_size",
    "cohen_kappa",
    "delta_interval",
    "entropy",
    "fleiss_kappa",
    "flip_interval",
    "flip_rate",
    "gwet_ac1",
    "jeffreys_interval",
    "known_interval",
    "krippendorff_alpha",
    "lang_reiczigel",
    "mcnemar",
    "median_interval",
    "needed_for_width",
    "needed_to_show",
    "needed_to_tell",
    "paired_difference",
    "pass_at_k",
    "pass_hat_k",
    "ppi_mean",
    "rogan_gladen",
    "shifted",
    "wilson",
]
