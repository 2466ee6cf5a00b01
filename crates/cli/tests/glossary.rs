//! GLOSSARY.md and the code agree; so do the paths and crates that documents name.

mod repository;

use std::path::Path;

use repository::{files, metadata, root, text};

/// One row of the table.
struct Row {
    term: String,
    /// The name in the code, without its backquotes.
    name: String,
}

/// The rows of the glossary's table, in its order.
fn rows() -> Vec<Row> {
    let glossary = text("GLOSSARY.md");
    let lines = glossary.lines().skip_while(|line| !line.starts_with("|---"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 5, "GLOSSARY.md: not five cells: {line}");
        assert!(cells.iter().all(|c| !c.is_empty()), "GLOSSARY.md: an empty cell: {line}");
        let name = cells[1].strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        let name = name.unwrap_or_else(|| panic!("GLOSSARY.md: no name in backquotes: {line}"));
        Row { term: cells[0].to_owned(), name: name.to_owned() }
    })
    .collect()
}

// Fails when a row is put in another place, or a term or a name stands in two rows: tried with the
// first two rows exchanged, and with a row doubled.
#[test]
fn glossary_terms_are_sorted_and_unique() {
    let rows = rows();
    assert!(rows.len() > 50, "only {} rows found", rows.len());
    for pair in rows.windows(2) {
        let [first, second] = [&pair[0].term, &pair[1].term];
        assert!(
            first.to_lowercase() < second.to_lowercase(),
            "GLOSSARY.md: \"{second}\" follows \"{first}\": sort the rows by term, and keep one of two"
        );
    }
    for (i, row) in rows.iter().enumerate() {
        let other = rows[..i].iter().find(|other| other.name == row.name);
        let other = other.map(|other| other.term.as_str());
        assert_eq!(
            other, None,
            "GLOSSARY.md: `{}` is \"{}\" as well: one name has one term",
            row.name, row.term
        );
    }
}

// Fails when a public item or field is renamed or removed: tried with `LinkConfig::downstream_backlog` under another
// name, and with a type, a variant and a function that do not exist.
#[test]
fn glossary_names_exist_in_the_code() {
    let sources: Vec<(String, String)> = files()
        .into_iter()
        .filter(|path| path.starts_with("crates/") && path.contains("/src/"))
        .filter(|path| path.ends_with(".rs") && !path.ends_with("tests.rs"))
        .map(|path| (text(&path), path))
        .map(|(text, path)| (path, text))
        .collect();
    let missing: Vec<String> = rows()
        .iter()
        .filter(|row| !exists(&sources, &row.name))
        .map(|row| {
            format!(
                "GLOSSARY.md names `{}` for \"{}\", and no public item or field of crates/ is called \
                 so: write its new name into the row, or take the row out with the term",
                row.name, row.term
            )
        })
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Whether some crate has a public item of this name: `[crate::][module::]...Type[::member]` or
/// `[crate::][module::]...function`.
fn exists(sources: &[(String, String)], name: &str) -> bool {
    let mut parts: Vec<&str> = name.split("::").collect();
    let folder = format!("/{}/src/", parts[0]);
    let mut sources: Vec<&(String, String)> = sources.iter().collect();
    if parts.len() > 1 && sources.iter().any(|(path, _)| path.contains(&folder)) {
        sources.retain(|(path, _)| path.contains(&folder));
        parts.remove(0);
    }
    let is_type = |part: &str| part.starts_with(|c: char| c.is_uppercase());
    let module = parts.iter().position(|part| is_type(part)).unwrap_or(parts.len() - 1);
    for module in &parts[..module] {
        let paths = [format!("/{module}.rs"), format!("/{module}/")];
        sources.retain(|(path, _)| paths.iter().any(|p| path.contains(p.as_str())));
    }
    match parts[module..] {
        [item] => sources.iter().any(|(_, text)| text.lines().any(|line| declares(line, item))),
        [owner, member] => {
            let types = |line: &&str| declares(line, owner);
            let declared = sources.iter().any(|(_, text)| text.lines().any(|l| types(&l)));
            declared && sources.iter().any(|(_, text)| has_member(text, owner, member))
        }
        _ => false,
    }
}

/// The identifiers of a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether a line declares a public item or field: `pub struct Name`, `pub fn name`, `pub name:`.
fn declares(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    if !line.starts_with("pub ") {
        return false;
    }
    let mut words = words(line).skip(1).filter(|word| !["const", "unsafe"].contains(word));
    let first = words.next();
    let kinds = ["struct", "enum", "trait", "type", "fn", "static", "mod"];
    match first {
        Some(kind) if kinds.contains(&kind) => words.next() == Some(name),
        other => other == Some(name) && line.contains(':'),
    }
}

/// Whether a type's declaration, or a block of its functions, holds a public member: a field, a
/// function, a constant, a variant, or a function of a trait. All these blocks begin and end without
/// indentation.
fn has_member(text: &str, owner: &str, member: &str) -> bool {
    let mut inside: Option<bool> = None;
    for line in text.lines() {
        match inside {
            Some(_) if line == "}" => inside = None,
            // Variants and functions of traits are as public as what they belong to.
            Some(open) if declares(line, member) || open && starts_with(line, member) => {
                return true;
            }
            Some(_) => {}
            None if line.ends_with('{') && words(line).any(|word| word == owner) => {
                let open = declares(line, owner);
                if open || line.starts_with("impl") {
                    inside = Some(open);
                }
            }
            None => {}
        }
    }
    false
}

/// Whether a line of a block begins with a variant or a function of a trait.
fn starts_with(line: &str, member: &str) -> bool {
    let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with([' ', '/', '#']))
    else {
        return false;
    };
    let line = line.strip_prefix("fn ").unwrap_or(line);
    words(line).next() == Some(member)
}

// Fails when a file that a decision, a how-to or the page of a crate names is moved or removed: tried
// with a misspelt path in each.
#[test]
fn documents_name_existing_files() {
    let pages = files().into_iter().filter(|path| {
        path.starts_with("docs/adr/")
            || path.starts_with("docs/how-to/add-a-")
            || path == "fuzz/README.md"
            || path.ends_with("/README.md")
                && ["crates/", "compare/", "tools/"].iter().any(|top| path.starts_with(top))
    });
    let mut faults = Vec::new();
    let mut seen = 0;
    for page in pages.filter(|page| page.ends_with(".md")) {
        let page_text = text(&page);
        for word in page_text.split('`').skip(1).step_by(2) {
            let tops = [
                "crates/",
                "compare/",
                "tools/",
                "scripts/",
                "docs/",
                "vm/",
                "experiments/",
                "scenarios/",
            ];
            let is_path = tops.iter().any(|top| word.starts_with(top));
            let is_pattern = word.contains(|c: char| c.is_whitespace() || "*{<".contains(c));
            if !is_path || is_pattern || word.contains("NAME") {
                continue;
            }
            seen += 1;
            if !root().join(word).exists() {
                faults.push(format!(
                    "{page} names `{word}`, which does not exist: write its new path"
                ));
            }
        }
    }
    assert!(seen > 50, "only {seen} paths found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

// Fails when a crate has no README.md, or the README does not list the crates that depend on it: tried
// with a crate left out, and with one that does not depend on it.
#[test]
fn the_readme_of_a_crate_lists_its_dependents() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let members = metadata["workspace_members"].as_array().expect("members");
    let members: Vec<_> = packages.iter().filter(|p| members.contains(&p["id"])).collect();
    for package in &members {
        let name = package["name"].as_str().expect("a name");
        let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
        let readme = manifest.with_file_name("README.md");
        let readme = std::fs::read_to_string(&readme).unwrap_or_else(|e| {
            panic!(
                "{}: {e}: state what {name} is, its dependents and where to start",
                readme.display()
            )
        });
        let depends = |other: &&&serde_json::Value| {
            let dependencies = other["dependencies"].as_array().expect("dependencies").iter();
            dependencies.filter(|d| d["kind"].is_null()).any(|d| d["name"] == name)
        };
        let names = members.iter().filter(depends).map(|p| p["name"].as_str().expect("a name"));
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        let (_, list) = readme.split_once("- Used by: ").unwrap_or_else(|| {
            panic!("{name}: its README.md has no line that begins with \"- Used by: \"")
        });
        let list = list.split("\n- ").next().unwrap_or_default();
        let listed: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        assert_eq!(
            listed, names,
            "left: the crates that \"Used by\" in the README.md of {name} lists, right: those whose \
             Cargo.toml names it"
        );
    }
}
