//! The Wilcoxon signed rank test (Wilcoxon 1945; zeros kept in the ranking: Pratt 1959).
//!
//! It tests a symmetric shift, not the mean or the total. The exact law is the one of the average
//! ranks at hand, so ties need no correction. Ranks are doubled to stay integers.

use serde::Serialize;

use crate::analysis::Flag;
use crate::analysis::means::mean::probability;
use crate::analysis::numerics::coin_sum::{Tails, tails};
use crate::analysis::numerics::lattice::Lattice;
use crate::analysis::numerics::special::normal_sf;

/// The most ranked differences for which the exact law is computed.
const RANKS_MAX: usize = 1000;

/// What becomes of differences that are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ZeroMethod {
    /// Zeros are dropped before ranking.
    #[serde(rename = "wilcox")]
    Wilcoxon,
    /// Zeros are ranked, then dropped.
    #[serde(rename = "pratt")]
    Pratt,
}

/// The signed rank test of paired differences.
///
/// Only zeros: `p_exact` is 1 and the rest undefined. Above 1000 ranked differences the exact p are
/// `null` and `p_normal` is to be used. Without a task everything is `null`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignedRank {
    /// What became of zeros.
    pub zero_method: ZeroMethod,
    /// The number of differences that were ranked.
    pub n: usize,
    /// The number of differences that are 0.
    pub n_zero: usize,
    /// The sum of the ranks of positive differences.
    pub w_plus: f64,
    /// The sum of the ranks of negative differences.
    pub w_minus: f64,
    /// min(1, 2 min(P(W+ <= w), P(W+ >= w))).
    pub p_exact: Option<f64>,
    /// The exact one-sided p; absent when all differences are 0.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub one_sided: Option<OneSided>,
    /// The normal score with tie-corrected variance and no continuity correction.
    pub z: Option<f64>,
    /// Two-sided p of `z`.
    pub p_normal: Option<f64>,
    /// Whether two differences other than 0 have the same magnitude.
    pub ties: bool,
    /// (W+ - W-) / (W+ + W-); absent when all differences are 0 (Kerby 2014).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank_biserial: Option<f64>,
    /// Why something above is `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<Flag>,
}

/// The exact one-sided p of a signed rank test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneSided {
    /// P(W+ >= w).
    pub p_exact_greater: Option<f64>,
    /// P(W+ <= w).
    pub p_exact_less: Option<f64>,
}

/// A difference as the test sees it: a magnitude of which only the order matters, and a side.
#[derive(Clone, Copy, Debug)]
struct Difference {
    magnitude: u64,
    positive: bool,
}

impl SignedRank {
    /// Tests exact differences; ties are exact.
    pub fn of_lattice(differences: &Lattice, zeros: ZeroMethod) -> Self {
        let differences = differences.values.iter().map(|&value| Difference {
            magnitude: value.unsigned_abs(),
            positive: value > 0,
        });
        Self::new(differences.collect(), zeros)
    }

    /// Tests differences given as doubles; only equal doubles are ties.
    ///
    /// Differences of decimals are better given exactly: as doubles 1.1 + 0.2 and 0.1 + 1.2 are no tie.
    pub fn of_values(differences: &[f64], zeros: ZeroMethod) -> Self {
        if differences.iter().any(|value| !value.is_finite()) {
            return Self::undefined(differences.len(), zeros, Flag::InvalidValue);
        }
        // The bits of doubles that are not negative have the order of the doubles.
        let differences = differences.iter().map(|&value| Difference {
            magnitude: value.abs().to_bits(),
            positive: value > 0.0,
        });
        Self::new(differences.collect(), zeros)
    }

    fn new(mut differences: Vec<Difference>, zeros: ZeroMethod) -> Self {
        let count = differences.len();
        if zeros == ZeroMethod::Wilcoxon {
            differences.retain(|difference| difference.magnitude > 0);
        }
        let ranks = Ranks::of(differences);
        let n_zero = count - ranks.nonzero();
        let mut test = Self {
            n: ranks.ranked,
            n_zero,
            ..Self::undefined(count, zeros, Flag::NoTask)
        };
        if count > 0 {
            test.flag = None;
            if ranks.nonzero() == 0 {
                test.p_exact = Some(1.0);
            } else {
                test.fill(&ranks);
            }
        }
        test
    }

    fn fill(&mut self, ranks: &Ranks) {
        let (plus, minus) = (total(&ranks.plus), total(&ranks.minus));
        let squares: f64 = ranks.all().map(|rank| (rank as f64) * (rank as f64)).sum();
        let z = (plus - minus) / squares.sqrt();
        let (p_normal, below) = probability(2.0 * normal_sf(z.abs()));
        let law = tails(&ranks.plus, &ranks.minus).filter(|_| ranks.ranked <= RANKS_MAX);
        let exact = law.map(Exact::new);
        self.w_plus = plus / 2.0;
        self.w_minus = minus / 2.0;
        self.p_exact = exact.and_then(|exact| exact.two_sided);
        self.one_sided = Some(OneSided {
            p_exact_greater: exact.and_then(|exact| exact.greater),
            p_exact_less: exact.and_then(|exact| exact.less),
        });
        self.z = Some(z);
        self.p_normal = p_normal;
        self.ties = ranks.ties;
        self.rank_biserial = Some((plus - minus) / (plus + minus));
        self.flag = exact.map_or(Some(Flag::TooManyRanks), |exact| exact.flag.or(below));
    }

    fn undefined(count: usize, zeros: ZeroMethod, flag: Flag) -> Self {
        Self {
            zero_method: zeros,
            n: count,
            n_zero: 0,
            w_plus: 0.0,
            w_minus: 0.0,
            p_exact: None,
            one_sided: None,
            z: None,
            p_normal: None,
            ties: false,
            rank_biserial: None,
            flag: Some(flag),
        }
    }
}

/// The exact p of a law, each `None` below the range of a double.
#[derive(Clone, Copy, Debug)]
struct Exact {
    two_sided: Option<f64>,
    greater: Option<f64>,
    less: Option<f64>,
    flag: Option<Flag>,
}

impl Exact {
    fn new(law: Tails) -> Self {
        let (greater, _) = probability(law.above.probability);
        let (less, _) = probability(law.below.probability);
        let (two_sided, _) = probability(law.two_sided().probability);
        let all = [greater, less, two_sided];
        Self {
            two_sided,
            greater,
            less,
            flag: all.contains(&None).then_some(Flag::BelowRange),
        }
    }
}

/// Twice the average ranks of the differences other than 0, by side.
#[derive(Clone, Debug)]
struct Ranks {
    plus: Vec<u64>,
    minus: Vec<u64>,
    ranked: usize,
    ties: bool,
}

impl Ranks {
    fn of(mut differences: Vec<Difference>) -> Self {
        differences.sort_unstable_by_key(|difference| difference.magnitude);
        let mut ranks = Self {
            plus: Vec::new(),
            minus: Vec::new(),
            ranked: differences.len(),
            ties: false,
        };
        let mut before = 0_u64;
        for tied in differences.chunk_by(|x, y| x.magnitude == y.magnitude) {
            let through = before + tied.len() as u64;
            let doubled = before + 1 + through;
            before = through;
            let nonzero = tied.iter().filter(|difference| difference.magnitude > 0);
            for difference in nonzero {
                let side = if difference.positive {
                    &mut ranks.plus
                } else {
                    &mut ranks.minus
                };
                side.push(doubled);
                ranks.ties |= tied.len() > 1;
            }
        }
        ranks
    }

    fn nonzero(&self) -> usize {
        self.plus.len() + self.minus.len()
    }

    fn all(&self) -> impl Iterator<Item = u64> {
        self.plus.iter().chain(&self.minus).copied()
    }
}

fn total(ranks: &[u64]) -> f64 {
    ranks.iter().map(|&rank| u128::from(rank)).sum::<u128>() as f64
}
