//! Entry points for fuzzers: functions that panic only on a defect.

use std::time::Duration;

use crate::http::{self, Action, Actions, Events, Page};

/// Any bytes are a request that gets an answer of HTTP with the length of its body; none without a host of the
/// loopback gets a page, and none without the token reaches an action.
///
/// # Panics
/// When one of these does not hold.
pub fn request(data: &[u8]) {
    let page = Page::new("/page", "text/plain", || Ok("the page".to_owned()));
    let events = Events::new("/events", Duration::from_secs(1), || Ok("event".to_owned()));
    let act = Action::new("/act", 64, |body| Ok(body.to_owned()));
    let actions = Actions::new("secret".to_owned(), vec![act], || {});
    let request = String::from_utf8_lossy(data).to_lowercase();
    let Some(answer) = http::answer_of(data, page, events, actions) else {
        assert!(request.contains("secret"), "an action without the token");
        return;
    };
    let text = String::from_utf8(answer).expect("answers are text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 "));
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    match length {
        Some(length) => assert!(body.is_empty() || length == body.len().to_string()),
        None => assert!(head.contains("text/event-stream")),
    }
    if head.starts_with("HTTP/1.1 200 ") {
        let local = ["localhost", "127.", "::1", "http/1.0"];
        // `[::01]` and `[0:0:0:0:0:0:0:1]` are loopback, too.
        let bare = request.replace('0', "");
        let is_local = |host: &&str| request.contains(*host) || bare.contains(*host);
        assert!(local.iter().any(is_local), "a page for another host");
    }
}

#[cfg(test)]
mod tests {
    /// Fails when the check takes a spelling of loopback for another host (found: `[::01]`), or a page is given to one.
    #[test]
    fn loopback_has_many_spellings() {
        let hosts =
            ["localhost", "127.0.0.1", "[::1]", "[::01]:9401", "[0:0:0:0:0:0:0:1]", "example.org"];
        for host in hosts {
            super::request(format!("GET /page HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        }
    }
}
