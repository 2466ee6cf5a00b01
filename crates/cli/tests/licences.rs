//! Every crate that ends up in a build has a licence that users of MIT or Apache-2.0 can live with.

mod repository;

use repository::metadata;

/// Licences that require no more than a notice. A crate with another one is replaced, or, when the
/// licence is of this kind, the licence is added to this list with a note to the maintainers.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether an SPDX expression can be satisfied by allowed licences alone: some term of `OR` of
/// which every factor of `AND` is allowed. `AND` binds tighter; `/` is the old way to write `OR`.
fn acceptable(expression: &str) -> Result<bool, String> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let value = any(&mut rest)?;
    if rest.is_empty() { Ok(value) } else { Err(format!("what is `{}`?", rest.join(" "))) }
}

fn any(rest: &mut &[&str]) -> Result<bool, String> {
    let mut value = every(rest)?;
    while let [first, tail @ ..] = *rest {
        if *first != "OR" {
            break;
        }
        *rest = tail;
        value |= every(rest)?;
    }
    Ok(value)
}

fn every(rest: &mut &[&str]) -> Result<bool, String> {
    let mut value = one(rest)?;
    while let [first, tail @ ..] = *rest {
        if *first != "AND" {
            break;
        }
        *rest = tail;
        value &= one(rest)?;
    }
    Ok(value)
}

fn one(rest: &mut &[&str]) -> Result<bool, String> {
    match *rest {
        ["(", tail @ ..] => {
            *rest = tail;
            let value = any(rest)?;
            let [")", tail @ ..] = *rest else { return Err("a bracket stays open".to_owned()) };
            *rest = tail;
            Ok(value)
        }
        [licence, "WITH", exception, tail @ ..] => {
            *rest = tail;
            Ok(ALLOWED.contains(&format!("{licence} WITH {exception}").as_str()))
        }
        [licence, tail @ ..] if !["AND", "OR", "WITH", ")"].contains(licence) => {
            *rest = tail;
            Ok(ALLOWED.contains(licence))
        }
        _ => Err("a licence is missing".to_owned()),
    }
}

// Fails when a dependency with a licence outside the list is added: tried by taking Unicode-3.0
// off the list, which names `unicode-ident`.
#[test]
fn every_dependency_has_an_allowed_licence() {
    let packages = metadata()["packages"].as_array().expect("packages").clone();
    assert!(packages.len() > 20, "cargo metadata lists only {} packages", packages.len());
    let mut faults = Vec::new();
    for package in &packages {
        let name = format!("{} {}", package["name"], package["version"]);
        let Some(licence) = package["license"].as_str() else {
            faults.push(format!("{name} states no licence"));
            continue;
        };
        match acceptable(licence) {
            Ok(true) => {}
            Ok(false) => faults.push(format!("{name} is under {licence}")),
            Err(error) => faults.push(format!("{name} is under `{licence}`: {error}")),
        }
    }
    assert!(
        faults.is_empty(),
        "{}\nreplace the crate, or add its licence to the list in this test if it requires no \
         more than a notice; `cargo tree --invert NAME` lists its dependents",
        faults.join("\n")
    );
}

// Fails when a factor of `AND` is overlooked, or an alternative of `OR`.
#[test]
fn licence_expressions_are_parsed() {
    for good in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-2.0-only OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        "GPL-3.0 AND ISC OR Zlib",
    ] {
        assert_eq!(acceptable(good), Ok(true), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "MIT AND (GPL-3.0 OR LGPL-3.0)", "MPL-2.0"] {
        assert_eq!(acceptable(bad), Ok(false), "{bad}");
    }
    for nonsense in ["", "MIT OR", "(MIT", "MIT Apache-2.0"] {
        assert!(acceptable(nonsense).is_err(), "{nonsense}");
    }
}

// Fails when cargo-deny permits another licence than this test: tried with MPL-2.0 in deny.toml.
#[test]
fn deny_toml_has_the_same_licences() {
    let rules = repository::text("deny.toml");
    let (_, rest) = rules.split_once("\nallow = [").expect("a list");
    let list = rest.split(']').next().unwrap_or_default();
    let listed: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(listed, ALLOWED, "left: deny.toml, right: this test");
}

// Fails when a release forgets the version of the citation.
#[test]
fn the_citation_has_this_version() {
    let citation = repository::text("CITATION.cff");
    assert!(citation.contains(&format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"))));
}
