//! Lines of the reserve protocol, in both directions: what is read is written and read back equal,
//! and a refusal fits into a line.
#![no_main]

use laxity_reserve::protocol::{self, Answer, Call, LONGEST, Reply, VERSION};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match protocol::read(data) {
        Ok(request) => {
            let line = protocol::line(&Call { version: VERSION, request });
            assert_eq!(protocol::read(&line), Ok(request));
        }
        Err(refusal) if data.len() <= LONGEST => {
            let answer = protocol::line(&Reply::new(Answer::Refused(refusal)));
            assert!(answer.len() <= LONGEST, "a refusal of {} bytes", answer.len());
        }
        Err(_) => {}
    }
    if let Ok(reply) = serde_json::from_slice::<Reply>(data) {
        let again = serde_json::from_slice::<Reply>(&protocol::line(&reply));
        assert_eq!(again.expect("what is written is read"), reply);
    }
});
