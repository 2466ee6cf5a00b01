//! Entry points for fuzzing: functions that panic only on a fault.

use crate::protocol::{
    Answer, Call, MAX_LINE_BYTES, Reply, VERSION, encode_line, parse_reply, parse_request,
};

/// Any bytes are a line of a client or a refusal that fits into a line, and a line of a server or an
/// error; a line is written and reads back equal.
///
/// # Panics
/// When one of these does not hold.
pub fn line(data: &[u8]) {
    match parse_request(data) {
        Ok(request) => {
            let line = encode_line(&Call { version: VERSION, request });
            assert_eq!(parse_request(&line), Ok(request));
        }
        Err(refusal) if data.len() <= MAX_LINE_BYTES => {
            let answer = encode_line(&Reply::new(Answer::Refused(refusal)));
            assert!(answer.len() <= MAX_LINE_BYTES, "a refusal of {} bytes", answer.len());
        }
        Err(_) => {}
    }
    if let Ok(reply) = serde_json::from_slice::<Reply>(data) {
        let again = serde_json::from_slice::<Reply>(&encode_line(&reply));
        assert_eq!(again.expect("written replies parse"), reply);
    }
    let _ = parse_reply(data);
}
