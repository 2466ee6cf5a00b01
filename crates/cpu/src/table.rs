//! A table of rows indexed by task.

use alloc::vec::Vec;

use crate::{Refusal, TaskId};

/// A row for each task that has joined.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Table<T> {
    rows: Vec<Option<T>>,
}

impl<T> Table<T> {
    pub(crate) fn new() -> Table<T> {
        Table { rows: Vec::new() }
    }

    /// Adds a task; returns the length of the table.
    pub(crate) fn join(&mut self, task: TaskId, row: T) -> Result<usize, Refusal> {
        if self.rows.len() <= task.index() {
            self.rows.resize_with(task.index() + 1, || None);
        }
        let place = &mut self.rows[task.index()];
        if place.is_some() {
            return Err(Refusal::Known(task));
        }
        *place = Some(row);
        Ok(self.rows.len())
    }

    pub(crate) fn leave(&mut self, task: TaskId) -> Option<T> {
        self.rows.get_mut(task.index())?.take()
    }

    #[inline]
    pub(crate) fn get(&self, task: TaskId) -> Option<&T> {
        self.rows.get(task.index())?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, task: TaskId) -> Option<&mut T> {
        self.rows.get_mut(task.index())?.as_mut()
    }

    /// The row of a task, or an error if it is unknown.
    pub(crate) fn known(&mut self, task: TaskId) -> Result<&mut T, Refusal> {
        self.get_mut(task).ok_or(Refusal::Unknown(task))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.rows.iter_mut().flatten()
    }
}
