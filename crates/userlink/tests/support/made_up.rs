//! Interfaces that are made up.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd};

use laxity_userlink::WireError;
use laxity_userlink::counts::Counts;
use laxity_userlink::port::{Intake, Receive};

struct Source<F> {
    receive: F,
    file: File,
}

/// Where frames come from, as a function has it.
pub fn source(receive: impl FnMut(&mut Intake<'_>) + Send + 'static) -> Box<dyn Receive> {
    Box::new(Source { receive, file: File::open("/dev/null").expect("there is one") })
}

impl<F: FnMut(&mut Intake<'_>) + Send> Receive for Source<F> {
    fn receive(&mut self, intake: &mut Intake<'_>) -> Result<(), WireError> {
        (self.receive)(intake);
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn check(&mut self, _: &mut Counts) -> Result<(), WireError> {
        Ok(())
    }
}
