//! How long a request is, and its reading.

use std::io::{self, Read as _};
use std::net::TcpStream;

use super::LONGEST;
use super::live::Fields;

/// Reads a request with its body, of at most `longest_body` bytes: true when it is whole, false when it never
/// will be.
pub(super) fn read(
    stream: &mut TcpStream,
    request: &mut Vec<u8>,
    longest_body: usize,
) -> io::Result<bool> {
    let mut buffer = [0; 1024];
    let longest = LONGEST + longest_body;
    loop {
        let bytes = stream.read(&mut buffer)?;
        request.extend_from_slice(&buffer[..bytes]);
        if let Some(head) = head_of(request) {
            // What an action would refuse is not waited for.
            let whole = match BodyLength::of(&String::from_utf8_lossy(&request[..head])) {
                BodyLength::Known(bytes) if bytes <= longest_body => request.len() >= head + bytes,
                _ => true,
            };
            if whole {
                return Ok(true);
            }
        } else if request.len() > LONGEST {
            return Ok(false);
        }
        if bytes == 0 || request.len() > longest {
            return Ok(false);
        }
    }
}

/// The length of the head of a request with the empty line that ends it, when that has come.
pub(super) fn head_of(request: &[u8]) -> Option<usize> {
    let end = |end: &[u8]| {
        request.windows(end.len()).position(|window| window == end).map(|at| at + end.len())
    };
    let ends = [end(b"\r\n\r\n"), end(b"\n\n")];
    ends.into_iter().flatten().min()
}

/// The length of a body, as its head announces it (RFC 9110, section 8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyLength {
    /// Not at all; chunks are not read.
    Missing,
    /// Several, or something else than digits.
    Invalid,
    /// Bytes; of more than fit into the type, the most that do.
    Known(usize),
}

impl BodyLength {
    /// Of a head.
    pub fn of(head: &str) -> BodyLength {
        BodyLength::of_fields(&Fields::of(head.lines().skip(1)))
    }

    /// Of the fields of a head.
    pub fn of_fields(fields: &Fields<'_>) -> BodyLength {
        let mut values = fields.all("content-length");
        match (values.next(), values.next()) {
            (None, _) => BodyLength::Missing,
            (Some(digits), None)
                if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
            {
                BodyLength::Known(digits.parse().unwrap_or(usize::MAX))
            }
            _ => BodyLength::Invalid,
        }
    }
}
