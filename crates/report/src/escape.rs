//! Escapes names from files and captures, so that none acts as markup or as a terminal command.

/// Escapes text for HTML and XML, both as content and inside a double-quoted attribute.
///
/// Characters that XML 1.0 forbids (most controls, the two non-characters) become U+FFFD, so that a
/// standalone SVG stays well formed with any name of a flow.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if forbidden(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Makes text safe on a terminal: controls (also escape, newline and tab) and characters that turn
/// the writing direction become U+FFFD.
pub fn terminal(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || turns(c) { '\u{fffd}' } else { c }).collect()
}

/// A file-name stem or fragment identifier: lower-case ASCII letters, digits and single hyphens.
/// Never empty.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() >= 60 {
            break;
        }
    }
    while out.ends_with('-') {
        out.pop();
    }
    if out.is_empty() { "x".into() } else { out }
}

fn forbidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || c == '\u{fffe}' || c == '\u{ffff}' || turns(c)
}

/// Bidirectional controls can make a name show as something else.
fn turns(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when any of the five replacements is removed.
    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            markup("<script>alert('x' & \"y\")</script>"),
            "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;"
        );
        assert_eq!(markup("a\u{0}b\u{1b}c\u{ffff}"), "a\u{fffd}b\u{fffd}c\u{fffd}");
    }

    // Fails when controls pass through: a name could then clear the screen.
    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(terminal("a\u{1b}[2Jb\nc\u{202e}"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}");
    }

    #[test]
    fn slugs_are_lower_case_ascii() {
        assert_eq!(slug("../Two Segment!!/é"), "two-segment");
        assert_eq!(slug("<>"), "x");
        assert!(slug(&"a".repeat(500)).len() <= 60);
    }
}
