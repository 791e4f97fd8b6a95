//! Family 14: scheduled looks, each at the first tasks of the draw, all slots closed.

use super::facts::Fact;
use super::slots::Standing;
use super::{Answer, Naive};

impl Naive {
    fn looks_taken(&self) -> usize {
        let taken = |fact: &&Fact| matches!(fact, Fact::Looked(_));
        self.facts.iter().filter(taken).count()
    }

    /// The look that comes next: at how many tasks, and how many of their slots have not ended.
    fn next_look(&self) -> Option<(usize, u64)> {
        let over = [Fact::Complete, Fact::Stopped, Fact::Looked(true)];
        if !self.registered() || over.iter().any(|fact| self.facts.contains(fact)) {
            return None;
        }
        self.look_at(self.looks_taken())
    }

    /// At how many tasks a look is, and how many of their slots have not ended.
    fn look_at(&self, place: usize) -> Option<(usize, u64)> {
        let drawn = self.drawn();
        let share = self.design().looks.get(place)?;
        let size = drawn.len() * share.num as usize / share.den as usize;
        if size == drawn.len() {
            // What is analysed in the end is no look before it.
            return None;
        }
        let first = &drawn[..size];
        if self.design().by_counts {
            let each = self.design().arms as u64 * u64::from(self.design().all_repeats());
            let ended = first.iter().map(|task| self.slots_ended_by_counts(task));
            return Some((size, each * size as u64 - ended.sum::<u64>()));
        }
        let plan = self.plan_over(&drawn);
        let standings = self.standings(&plan);
        let open = plan
            .iter()
            .zip(standings)
            .filter(|(slot, standing)| first.contains(&slot.task) && *standing != Standing::Ended);
        Some((size, open.count() as u64))
    }

    /// The look that has ended the study: at how many tasks, and how many of their slots are open again.
    fn ended_at(&self) -> Option<(usize, u64)> {
        let has_ended = self.facts.contains(&Fact::Looked(true));
        has_ended.then(|| self.look_at(self.looks_taken() - 1))?
    }

    pub(super) fn look_has_ended(&self) -> bool {
        self.ended_at().is_some_and(|(_, open)| open == 0)
    }

    /// Nothing starts while a look is due, and once one has ended the study. CHOICE: but for its own tasks, where an
    /// outage has opened slots of them again.
    pub(super) fn looked(&self, task: &str) -> Result<(), String> {
        if let Some((size, open)) = self.ended_at() {
            let is_of_it = self.drawn()[..size].iter().any(|of_it| of_it == task);
            return match open > 0 && is_of_it {
                true => Ok(()),
                false => Err(format!("look-stopped {}", self.looks_taken())),
            };
        }
        match self.next_look() {
            Some((size, 0)) => Err(format!("look-due {} {size}", self.looks_taken() + 1)),
            _ => Ok(()),
        }
    }

    pub(super) fn look(&mut self, look: u64, tasks: u64, stops: bool) -> Answer {
        let next = self.looks_taken() as u64 + 1;
        if self.facts.contains(&Fact::Looked(true)) && self.next_look().is_none() {
            return Err(format!("look-stopped {}", self.looks_taken()));
        }
        match self.next_look() {
            Some((size, 0)) if (look, tasks) == (next, size as u64) => {
                self.facts.push(Fact::Looked(stops));
                let ends = if stops { " ends it" } else { "" };
                Ok(vec![format!("look {look}{ends}")])
            }
            Some((_, open)) => Err(format!("look-not-due {:?} {:?}", Some(next), Some(open))),
            None => Err("look-not-due None None".to_owned()),
        }
    }
}
