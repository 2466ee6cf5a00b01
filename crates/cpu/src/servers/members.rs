//! The tasks of a server: one as a rule, several in a group.

use super::Servers;
use super::server::NOBODY;

/// A task and its place in the list of its server's runnable members.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Member {
    /// `NOBODY` for places without a task.
    pub server: u32,
    pub runnable: bool,
    next: u32,
}

impl Member {
    pub(super) const ABSENT: Member = Member { server: NOBODY, runnable: false, next: NOBODY };

    pub(super) fn of(server: u32) -> Member {
        Member { server, ..Member::ABSENT }
    }

    pub(super) fn is_here(&self) -> bool {
        self.server != NOBODY
    }
}

impl Servers {
    pub(super) fn append(&mut self, task: u32) {
        let member = &mut self.members[task as usize];
        member.runnable = true;
        member.next = NOBODY;
        let server = &mut self.servers[member.server as usize];
        let last = core::mem::replace(&mut server.tail, task);
        if last == NOBODY {
            server.head = task;
        } else {
            self.members[last as usize].next = task;
        }
    }

    /// Takes a member out; the one that runs stands first, so this is a step as a rule.
    pub(super) fn unlink(&mut self, task: u32) {
        let Member { server, next, .. } = self.members[task as usize];
        self.members[task as usize].runnable = false;
        let (mut before, mut at) = (NOBODY, self.servers[server as usize].head);
        while at != task && at != NOBODY {
            (before, at) = (at, self.members[at as usize].next);
        }
        let server = &mut self.servers[server as usize];
        if before == NOBODY {
            server.head = next;
        } else {
            self.members[before as usize].next = next;
        }
        if server.tail == task {
            server.tail = before;
        }
    }

    /// The members of a group take turns, a budget each.
    pub(super) fn rotate(&mut self, s: u32) {
        let server = &self.servers[s as usize];
        if server.head != server.tail {
            let first = server.head;
            self.unlink(first);
            self.append(first);
        }
    }
}
