//! The tasks of a server: usually one, several in a group.

use super::Servers;
use super::server::NO_TASK;

/// A task and its place in the list of its server's runnable members.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Member {
    /// `NO_TASK` for slots without a task.
    pub server: u32,
    pub runnable: bool,
    next: u32,
}

impl Member {
    pub(super) const ABSENT: Member = Member { server: NO_TASK, runnable: false, next: NO_TASK };

    pub(super) fn of(server: u32) -> Member {
        Member { server, ..Member::ABSENT }
    }

    pub(super) fn is_present(&self) -> bool {
        self.server != NO_TASK
    }
}

impl Servers {
    pub(super) fn append(&mut self, task: u32) {
        let member = &mut self.members[task as usize];
        member.runnable = true;
        member.next = NO_TASK;
        let server = &mut self.servers[member.server as usize];
        let last = core::mem::replace(&mut server.tail, task);
        if last == NO_TASK {
            server.head = task;
        } else {
            self.members[last as usize].next = task;
        }
    }

    /// Removes a member from the list. The running one is first, so this usually takes one step.
    pub(super) fn unlink(&mut self, task: u32) {
        let Member { server, next, .. } = self.members[task as usize];
        self.members[task as usize].runnable = false;
        let (mut before, mut at) = (NO_TASK, self.servers[server as usize].head);
        while at != task && at != NO_TASK {
            (before, at) = (at, self.members[at as usize].next);
        }
        let server = &mut self.servers[server as usize];
        if before == NO_TASK {
            server.head = next;
        } else {
            self.members[before as usize].next = next;
        }
        if server.tail == task {
            server.tail = before;
        }
    }

    /// Rotates the members of a group: each runs for one budget in turn.
    pub(super) fn rotate(&mut self, s: u32) {
        let server = &self.servers[s as usize];
        if server.head != server.tail {
            let first = server.head;
            self.unlink(first);
            self.append(first);
        }
    }
}
