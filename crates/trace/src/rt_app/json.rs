//! JSON as rt-app's files have it: comments allowed, keys in order and perhaps repeated, values with
//! their lines.

/// Depth of nesting beyond which nothing sensible is meant.
const DEEPEST: u32 = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub line: u64,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    /// Whole numbers only: rt-app knows no others.
    Number(i64),
    /// As written.
    Fraction(String),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Kind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Fraction(_) => "a number that is not whole or too great",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Object(_) => "an object",
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    line: u64,
}

type Parsed<T> = Result<T, (u64, String)>;

/// The value of a whole file.
pub(super) fn parse(text: &str) -> Parsed<Value> {
    let mut parser = Parser { text: text.as_bytes(), at: 0, line: 1 };
    let value = parser.value(0)?;
    parser.space()?;
    match parser.peek() {
        None => Ok(value),
        Some(_) => parser.wrong("more after the end of the outermost object"),
    }
}

impl Parser<'_> {
    fn wrong<T>(&self, what: &str) -> Parsed<T> {
        Err((self.line, what.to_string()))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += u64::from(byte == b'\n');
        Some(byte)
    }

    fn space(&mut self) -> Parsed<()> {
        loop {
            let rest = &self.text[self.at..];
            match rest {
                [b' ' | b'\t' | b'\r' | b'\n', ..] => {
                    self.next();
                }
                [b'/', b'/', ..] => while !matches!(self.next(), None | Some(b'\n')) {},
                [b'/', b'*', ..] => {
                    let length = rest.windows(2).skip(2).position(|w| w == b"*/");
                    let Some(length) = length else {
                        return self.wrong("a comment that does not end: close it with */");
                    };
                    for _ in 0..length + 4 {
                        self.next();
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: u32) -> Parsed<Value> {
        self.space()?;
        if depth > DEEPEST {
            return self.wrong("nested too deeply");
        }
        let line = self.line;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.object(depth)?),
            Some(b'[') => Kind::List(self.list(depth)?),
            Some(b'"') => Kind::Text(self.text()?),
            Some(_) => self.token()?,
            None => return self.wrong("the file ends where a value is due"),
        };
        Ok(Value { line, kind })
    }

    /// After an element: whether another follows. A comma before the end is allowed, as json-c does.
    fn another(&mut self, end: u8) -> Parsed<bool> {
        self.space()?;
        match self.next() {
            Some(b',') => {
                self.space()?;
                if self.peek() == Some(end) {
                    self.next();
                    return Ok(false);
                }
                Ok(true)
            }
            Some(byte) if byte == end => Ok(false),
            _ => self.wrong("a comma or the end of the list or object is missing"),
        }
    }

    fn object(&mut self, depth: u32) -> Parsed<Vec<(String, Value)>> {
        self.next();
        self.space()?;
        let mut entries = Vec::new();
        if self.peek() == Some(b'}') {
            self.next();
            return Ok(entries);
        }
        loop {
            self.space()?;
            if self.peek() != Some(b'"') {
                return self.wrong("a key in quotes is missing");
            }
            let key = self.text()?;
            self.space()?;
            if self.next() != Some(b':') {
                return self.wrong("a colon is missing after a key");
            }
            entries.push((key, self.value(depth + 1)?));
            if !self.another(b'}')? {
                return Ok(entries);
            }
        }
    }

    fn list(&mut self, depth: u32) -> Parsed<Vec<Value>> {
        self.next();
        self.space()?;
        let mut values = Vec::new();
        if self.peek() == Some(b']') {
            self.next();
            return Ok(values);
        }
        loop {
            values.push(self.value(depth + 1)?);
            if !self.another(b']')? {
                return Ok(values);
            }
        }
    }

    fn text(&mut self) -> Parsed<String> {
        self.next();
        let mut bytes = Vec::new();
        loop {
            match self.next() {
                None | Some(b'\n') => return self.wrong("a text that does not end on its line"),
                Some(b'"') => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                Some(b'\\') => match self.next() {
                    Some(b'n') => bytes.push(b'\n'),
                    Some(b't') => bytes.push(b'\t'),
                    Some(byte @ (b'"' | b'\\' | b'/')) => bytes.push(byte),
                    _ => return self.wrong("an escape that names of threads have no use for"),
                },
                Some(byte) => bytes.push(byte),
            }
        }
    }

    fn token(&mut self) -> Parsed<Kind> {
        let begin = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b"+-._".contains(&b)) {
            self.at += 1;
        }
        let token = String::from_utf8_lossy(&self.text[begin..self.at]).into_owned();
        let is_number = token.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        Ok(match token.as_str() {
            "null" => Kind::Null,
            "true" | "True" | "TRUE" => Kind::Bool(true),
            "false" | "False" | "FALSE" => Kind::Bool(false),
            _ if is_number => token.parse().map_or(Kind::Fraction(token), Kind::Number),
            _ => return self.wrong("a value is missing or is none"),
        })
    }
}
