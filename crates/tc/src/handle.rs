//! Handles of disciplines and classes.

use std::fmt;

/// `MAJOR:MINOR`, both hexadecimal; a discipline has minor 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    /// Number of the discipline.
    pub major: u16,
    /// Number of the class in it.
    pub minor: u16,
}

impl Handle {
    /// Reads `1:10`, `1:` or `:10`; `None` where it is neither.
    pub fn parse(text: &str) -> Option<Handle> {
        let (major, minor) = text.split_once(':')?;
        let part = |t: &str| match t {
            "" => Some(0),
            _ => u16::from_str_radix(t, 16).ok(),
        };
        Some(Handle { major: part(major)?, minor: part(minor)? })
    }

    /// The discipline of a class.
    pub fn qdisc(self) -> Handle {
        Handle { minor: 0, ..self }
    }

    /// A class of the same discipline.
    pub fn class(self, minor: u16) -> Handle {
        Handle { minor, ..self }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.minor {
            0 => write!(f, "{:x}:", self.major),
            minor => write!(f, "{:x}:{minor:x}", self.major),
        }
    }
}
