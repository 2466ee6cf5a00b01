//! Refusals, by the errors of D-Bus that RealtimeKit answers with.

use laxity_reserve::{Code, Error};

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `org.freedesktop.DBus.Error.AccessDenied`: the caller may not have it, or not now. RealtimeKit answers
    /// `EPERM`, `EACCES` and `EBUSY` so.
    AccessDenied(String),
    /// `org.freedesktop.DBus.Error.Failed`: the request is invalid or cannot be carried out. RealtimeKit
    /// answers all other error numbers so.
    Failed(String),
}

impl Refusal {
    pub(crate) fn denied(text: impl Into<String>) -> Refusal {
        Refusal::AccessDenied(text.into())
    }

    pub(crate) fn failed(text: impl Into<String>) -> Refusal {
        Refusal::Failed(text.into())
    }

    /// The refusal for a thread that does not exist.
    pub(crate) fn no_thread(process: u32, tid: u32) -> Refusal {
        Refusal::Failed(format!("process {process} has no thread {tid}"))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let text = error.to_string();
        match error.code() {
            Some(Code::NoRoom | Code::Share | Code::TooMany | Code::Affinity | Code::Busy) => {
                Refusal::AccessDenied(text)
            }
            _ => Refusal::Failed(text),
        }
    }
}

impl From<Refusal> for zbus::fdo::Error {
    fn from(refusal: Refusal) -> zbus::fdo::Error {
        match refusal {
            Refusal::AccessDenied(text) => zbus::fdo::Error::AccessDenied(text),
            Refusal::Failed(text) => zbus::fdo::Error::Failed(text),
        }
    }
}
