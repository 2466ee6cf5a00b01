//! The examples of the documents: blocks of code, and the commands in them.
#![allow(dead_code, reason = "each test program uses a part")]

/// A fenced or indented block of a page.
pub struct Block {
    pub page: String,
    /// The number of its first line.
    pub line: usize,
    /// What a fence says, `""` if nothing; `None` for an indented block.
    pub language: Option<String>,
    pub lines: Vec<String>,
    /// The reason of a `<!-- not run: ... -->` above it.
    pub exempt: Option<String>,
    /// The file as which the paragraph above it saves it: "Save this as `NAME`:".
    pub file: Option<String>,
}

/// A command line, with what the page shows of its output.
pub struct Example {
    pub line: usize,
    /// As a shell would be given it, without the prompt.
    pub text: String,
    /// It needs root: after `sudo`, or at the prompt `#`.
    pub root: bool,
    /// Its output follows on the page.
    pub shown: bool,
    pub output: Vec<String>,
}

/// The blocks of a page.
pub fn blocks(page: &str, text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut above = String::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let indent = line.len() - line.trim_start().len();
        let first = at;
        let language = line.trim_start().strip_prefix("```").map(str::to_owned);
        let mut held = Vec::new();
        if language.is_some() {
            at += 1;
            while at < lines.len() && lines[at].trim() != "```" {
                held.push(lines[at].get(indent..).unwrap_or_default().to_owned());
                at += 1;
            }
        } else if indent >= 4 && at > 0 && lines[at - 1].trim().is_empty() {
            while at < lines.len()
                && (lines[at].trim().is_empty()
                    || lines[at].len() - lines[at].trim_start().len() >= indent)
            {
                held.push(lines[at].get(indent..).unwrap_or_default().to_owned());
                at += 1;
            }
            at -= 1;
        }
        if held.is_empty() {
            if !line.trim().is_empty() {
                // A paragraph may wrap before its last word.
                above = if at > 0 && !lines[at - 1].trim().is_empty() && !line.starts_with("<!--") {
                    format!("{above} {}", line.trim())
                } else {
                    line.trim().to_owned()
                };
            }
        } else {
            let exempt = above.strip_prefix("<!-- not run: ").and_then(|t| t.strip_suffix(" -->"));
            let file = above.split("Save this as `").nth(1).and_then(|rest| rest.split('`').next());
            blocks.push(Block {
                page: page.to_owned(),
                line: first + 1,
                language,
                lines: held,
                exempt: exempt.map(str::to_owned),
                file: file.map(str::to_owned),
            });
            above.clear();
        }
        at += 1;
    }
    blocks
}

impl Block {
    /// The block as one text.
    pub fn text(&self) -> String {
        self.lines.join("\n") + "\n"
    }

    /// Whether it is TOML: it says so, or is indented and begins with an entry of a list of tables.
    pub fn is_toml(&self) -> bool {
        match self.language.as_deref() {
            Some(language) => language == "toml",
            None => self.lines[0].starts_with("[["),
        }
    }

    /// The command lines: all lines of an indented block or of `sh` that call `laxity` or a program that its examples
    /// need, and those after a prompt in `console` or in a block of no language.
    pub fn examples(&self) -> Vec<Example> {
        let prompts = match self.language.as_deref() {
            None | Some("sh") => false,
            Some("" | "console") => true,
            Some(_) => return Vec::new(),
        };
        let mut examples: Vec<Example> = Vec::new();
        let mut lines = (self.line + 1..).zip(&self.lines);
        while let Some((number, line)) = lines.next() {
            let prompt = ["$ ", "# "].into_iter().find(|prompt| line.starts_with(prompt));
            if prompt.is_none() && prompts {
                if let Some(last) = examples.last_mut() {
                    last.output.push(line.clone());
                    last.shown = true;
                }
                continue;
            }
            let mut text = prompt.map_or(line.as_str(), |prompt| &line[prompt.len()..]).to_owned();
            while text.ends_with('\\') {
                text.pop();
                text += lines.next().map_or("", |(_, line)| line.trim_start());
            }
            let root = prompt == Some("# ") || text.contains("sudo ");
            let text = text.strip_prefix("sudo ").unwrap_or(&text).to_owned();
            let shown = false;
            if ["laxity ", "sed "].iter().any(|program| text.starts_with(program)) {
                examples.push(Example { line: number, text, root, shown, output: Vec::new() });
            } else if prompt.is_none() && !examples.is_empty() {
                // Output in an indented block.
                let last = examples.last_mut().expect("not empty");
                last.output.push(line.clone());
            }
        }
        examples
    }
}

/// The words of a command line up to a comment, a pipe, another command or a redirection.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '|' | '>' | ';' | '&') => break,
            (None, '#') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
