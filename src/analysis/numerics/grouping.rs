//! Tasks grouped by cluster.

/// The cluster of each task, renumbered 0..count in ascending order of the ids given.
#[derive(Clone, Debug)]
pub(crate) struct Grouping {
    members: Vec<usize>,
    count: usize,
}

impl Grouping {
    /// Takes one id per task; gaps between ids are closed.
    pub(crate) fn new(ids: &[usize]) -> Self {
        let mut distinct = ids.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let members = ids
            .iter()
            .map(|id| distinct.partition_point(|other| other < id))
            .collect();
        Self {
            members,
            count: distinct.len(),
        }
    }

    /// Returns the number of tasks.
    pub(crate) fn task_count(&self) -> usize {
        self.members.len()
    }

    /// Returns the number of clusters that have a task.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Folds the values of the tasks into one accumulator per cluster, in the order of the tasks.
    pub(crate) fn fold<T, A: Clone + Default>(
        &self,
        values: impl IntoIterator<Item = T>,
        mut add: impl FnMut(&mut A, T),
    ) -> Vec<A> {
        let mut groups = vec![A::default(); self.count];
        for (&member, value) in self.members.iter().zip(values) {
            if let Some(group) = groups.get_mut(member) {
                add(group, value);
            }
        }
        groups
    }
}
