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
        let local = ["localhost", "127.", "::1", "0:1", "http/1.0"];
        assert!(local.iter().any(|host| request.contains(host)), "a page for another host");
    }
}
