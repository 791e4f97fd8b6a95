//! Family 2: tasks that are added one by one, and a draw that is appended to.

use super::{Answer, Fact, Naive};

impl Naive {
    pub(super) fn added(&self) -> Vec<(String, i64)> {
        let added = self.facts.iter().filter_map(|fact| match fact {
            Fact::Added(id, size) => Some((id.clone(), *size)),
            _ => None,
        });
        added.collect()
    }

    fn is_pilot_id(&self, id: &str) -> bool {
        id.contains('p')
    }

    /// The tasks of the frame.
    pub(super) fn known(&self) -> Vec<String> {
        let design = self.design();
        if design.open {
            return self.added().into_iter().map(|(id, _)| id).collect();
        }
        [design.drawn_ids(), design.undrawn_ids(), design.pilot_ids()].concat()
    }

    pub(super) fn pilots(&self) -> Vec<String> {
        let known = self.known().into_iter();
        known.filter(|id| self.is_pilot_id(id)).collect()
    }

    /// The drawn tasks, in order.
    pub(super) fn drawn(&self) -> Vec<String> {
        let design = self.design();
        if !design.grows {
            return design.drawn_ids();
        }
        let drawn = self.facts.iter().filter_map(|fact| match fact {
            Fact::Drawn(tasks) => Some(tasks.clone()),
            _ => None,
        });
        drawn.flatten().collect()
    }

    pub(super) fn add_task(&mut self, id: &str, size: Option<i64>) -> Answer {
        if !self.design().open {
            return Err("frame-closed".to_owned());
        }
        let size = size.ok_or("bad-task")?;
        match self.added().into_iter().find(|(known, _)| known == id) {
            Some((_, known)) if known == size => Ok(Vec::new()),
            Some(_) => Err(format!("task-differs {id} size")),
            None => {
                self.facts.push(Fact::Added(id.to_owned(), size));
                Ok(vec![format!("added {id}")])
            }
        }
    }

    pub(super) fn draw(&mut self, from: u64, tasks: &[String]) -> Answer {
        if !self.design().grows {
            return Err("draw-closed".to_owned());
        }
        let drawn = self.drawn();
        let size = drawn.len();
        if from == 0 || from as usize > size + 1 {
            return Err(format!("draw-gap {size}"));
        }
        let places = from as usize - 1..;
        let most = self.design().tasks;
        let is_full = !self.design().endless && from as usize - 1 + tasks.len() > most;
        let mut all = drawn.clone();
        for (place, task) in places.zip(tasks) {
            match drawn.get(place) {
                Some(known) if known == task => {}
                Some(_) => return Err(format!("draw-conflict {}", place + 1)),
                None if is_full => return Err(format!("draw-full {most}")),
                None => {
                    self.drawable(&all, place, task)?;
                    all.push(task.clone());
                }
            }
        }
        if all.len() == size {
            return Ok(Vec::new());
        }
        let fresh = all[size..].to_vec();
        let said = format!("drawn {}", fresh.join(" "));
        self.facts.push(Fact::Drawn(fresh));
        let slots = self.plan_over(&all).len();
        Ok(vec![format!("{said}: {slots} slots")])
    }

    /// CHOICE: a draw over a known frame is the whole draw, had it been made at once, as far as it
    /// has come.
    fn drawable(&self, drawn: &[String], place: usize, task: &String) -> Result<(), String> {
        if !self.known().contains(task) || self.is_pilot_id(task) {
            return Err(format!("not-confirmatory {task}"));
        }
        if self.drawn().contains(task) {
            return Err(format!("already-drawn {task}"));
        }
        let whole = self.design().drawable_ids();
        match whole.get(place) {
            Some(next) if !self.design().open && next != task => {
                Err(format!("draw-conflict {}", place + 1))
            }
            None if !self.design().open => Err(format!("not-confirmatory {task}")),
            _ if drawn.contains(task) => Err(format!("already-drawn {task}")),
            _ => Ok(()),
        }
    }
}
