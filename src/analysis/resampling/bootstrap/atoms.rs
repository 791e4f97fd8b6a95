//! The distinct values of a list of exact differences, as steps above the smallest.
use crate::analysis::numerics::lattice::{Lattice, greatest_common_divisor};

/// Above this range values are sorted rather than counted in a table.
const COUNTED_RANGE: u64 = 1 << 12;

/// A distinct value, `offset` steps above the smallest, and how many tasks have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Atom {
    pub(super) offset: u64,
    pub(super) count: u64,
}

/// The distinct values of n tasks: value = (least + step * offset) / scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Atoms {
    tasks: u64,
    scale: u64,
    least: i64,
    step: u64,
    atoms: Vec<Atom>,
}

impl Atoms {
    /// Counts values; undefined when there are none.
    pub(super) fn new(lattice: &Lattice) -> Option<Self> {
        let least = lattice.values.iter().copied().min()?;
        let most = lattice.values.iter().copied().max()?;
        let range = most.abs_diff(least);
        let mut atoms = if range < COUNTED_RANGE {
            counted(&lattice.values, least, range)
        } else {
            sorted(&lattice.values, least)
        };
        let step = atoms
            .iter()
            .fold(0, |step, atom| greatest_common_divisor(step, atom.offset));
        let step = step.max(1);
        for atom in &mut atoms {
            atom.offset /= step;
        }
        Some(Self {
            tasks: lattice.values.len() as u64,
            scale: lattice.scale,
            least,
            step,
            atoms,
        })
    }

    /// Returns the distinct values in ascending order.
    pub(super) fn as_slice(&self) -> &[Atom] {
        &self.atoms
    }

    /// Returns n.
    pub(super) fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Returns the largest offset.
    pub(super) fn span(&self) -> u64 {
        self.atoms.last().map_or(0, |atom| atom.offset)
    }

    /// Returns the sum of the offsets of all tasks.
    pub(super) fn offset_total(&self) -> u128 {
        self.atoms
            .iter()
            .map(|atom| u128::from(atom.offset) * u128::from(atom.count))
            .sum()
    }

    /// Returns the mean of n draws whose offsets sum to `sum`.
    pub(super) fn mean_at(&self, sum: u64) -> f64 {
        self.total_at(sum) as f64 / self.units_per_mean()
    }

    /// Returns the observed mean, reflected about it the mean of n draws whose offsets sum to `sum`.
    pub(super) fn reflected_mean_at(&self, sum: u64) -> f64 {
        let observed = i128::from(self.least) * i128::from(self.tasks)
            + i128::from(self.step) * i128::try_from(self.offset_total()).unwrap_or(i128::MAX);
        (2 * observed - self.total_at(sum)) as f64 / self.units_per_mean()
    }

    /// Returns the largest sum of offsets whose mean is at most 0; undefined when there is none.
    pub(super) fn last_sum_not_positive(&self) -> Option<u64> {
        let room = -i128::from(self.least) * i128::from(self.tasks);
        u64::try_from(room.div_euclid(i128::from(self.step))).ok()
    }

    /// Returns 1 / (scale n), the distance of neighbouring means.
    pub(super) fn resolution(&self) -> f64 {
        1.0 / self.units_per_mean()
    }

    /// Says whether the values lie symmetrically about their mean.
    pub(super) fn is_symmetric(&self) -> bool {
        let span = self.span();
        let mirrored = self.atoms.iter().rev().map(|atom| Atom {
            offset: span - atom.offset,
            count: atom.count,
        });
        mirrored.eq(self.atoms.iter().copied())
    }

    /// Returns the second and the third central sums of the offsets.
    pub(super) fn central_sums(&self) -> (f64, f64) {
        let mean = self.offset_total() as f64 / self.tasks as f64;
        self.atoms.iter().fold((0.0, 0.0), |(square, cube), atom| {
            let deviation = atom.offset as f64 - mean;
            let weighted = atom.count as f64 * deviation * deviation;
            (square + weighted, cube + weighted * deviation)
        })
    }

    /// Returns how much of the mean's unit one step of an offset is.
    pub(super) fn step_value(&self) -> f64 {
        self.step as f64 / self.scale as f64
    }

    fn total_at(&self, sum: u64) -> i128 {
        i128::from(self.least) * i128::from(self.tasks) + i128::from(self.step) * i128::from(sum)
    }

    fn units_per_mean(&self) -> f64 {
        (u128::from(self.scale) * u128::from(self.tasks)) as f64
    }
}

fn counted(values: &[i64], least: i64, range: u64) -> Vec<Atom> {
    let mut counts = vec![0; range as usize + 1];
    for value in values {
        if let Some(count) = counts.get_mut(value.abs_diff(least) as usize) {
            *count += 1;
        }
    }
    (0..)
        .zip(counts)
        .filter(|&(_, count)| count > 0)
        .map(|(offset, count)| Atom { offset, count })
        .collect()
}

fn sorted(values: &[i64], least: i64) -> Vec<Atom> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values
        .chunk_by(|a, b| a == b)
        .filter_map(|equal| {
            Some(Atom {
                offset: equal.first()?.abs_diff(least),
                count: equal.len() as u64,
            })
        })
        .collect()
}
