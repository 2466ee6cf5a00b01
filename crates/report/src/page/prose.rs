//! Sentences: names of keys and commands stand between backticks and are set in type of their own.

use crate::escape::markup;

/// A sentence as markup. An odd backtick stays as it is.
pub(crate) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, (code, after))) =
        rest.split_once('`').and_then(|(b, r)| Some((b, r.split_once('`')?)))
    {
        out.push_str(&markup(before));
        out.push_str("<code>");
        out.push_str(&markup(code));
        out.push_str("</code>");
        rest = after;
    }
    out.push_str(&markup(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a backtick reaches the page, or what stands between two is written unescaped.
    #[test]
    fn names_between_backticks_are_code() {
        assert_eq!(prose("set `a<b` to 1"), "set <code>a&lt;b</code> to 1");
        assert_eq!(prose("`a` and `b`"), "<code>a</code> and <code>b</code>");
        assert_eq!(prose("5` of"), "5` of");
    }
}
