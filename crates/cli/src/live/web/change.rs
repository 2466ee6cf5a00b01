//! Changes that are checked, then confirmed, then applied: exactly what was checked, to exactly what it was
//! checked against.

use std::collections::VecDeque;

use laxity_telemetry::http::Refusal;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Checked changes that may still be confirmed.
const KEPT: usize = 16;

/// What a page asks for: a verdict on a scenario alone, the scenario of a running link, or its rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The interface of a link that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The text of a scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// A rate for the scenario that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
}

/// The verdict on a change.
pub struct Verdict {
    pub admitted: bool,
    /// As `laxity check` prints it, or in sentences.
    pub text: String,
}

/// What is changed.
pub trait Target {
    /// All that a verdict on a change of a link depends on, as text.
    fn state(&mut self, device: &str) -> Result<String, Refusal>;
    /// The verdict on a change, which changes nothing.
    fn check(&mut self, change: &Change) -> Result<Verdict, Refusal>;
    /// Makes a change of a link, and says what happened.
    fn apply(&mut self, device: &str, change: &Change) -> Result<String, Refusal>;
}

/// The answer to a check.
#[derive(Serialize)]
struct Checked<'a> {
    admitted: bool,
    text: &'a str,
    /// By which the change is confirmed; none where it cannot be applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

/// A confirmation: the change once more, and what the check answered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirmation {
    digest: String,
    change: Change,
}

#[derive(Serialize)]
struct Applied<'a> {
    text: &'a str,
}

/// Changes that were checked and admitted, of one run of the server.
pub struct Changes<T> {
    target: T,
    /// Digests of changes, no two equal, each with that of the state of its link; the newest last.
    checked: VecDeque<(String, String)>,
}

impl<T: Target> Changes<T> {
    pub fn new(target: T) -> Changes<T> {
        Changes { target, checked: VecDeque::new() }
    }

    /// The verdict on the change in a body.
    ///
    /// # Errors
    /// No change, or one that cannot be judged.
    pub fn check(&mut self, body: &str) -> Result<String, Refusal> {
        let change: Change = read(body)?;
        match (&change.scenario, &change.rate, &change.device) {
            (Some(_), None, _) | (None, Some(_), Some(_)) => {}
            _ => {
                let what = "give a scenario, or a rate and the device of a link";
                return Err(Refusal::Input(what.to_owned()));
            }
        }
        let state = change.device.as_deref().map(|device| self.target.state(device)).transpose()?;
        let Verdict { admitted, text } = self.target.check(&change)?;
        let digest = state.filter(|_| admitted).map(|state| {
            let digest = digest_of(&change);
            // Checked twice, it is confirmed once.
            self.checked.retain(|(checked, _)| *checked != digest);
            if self.checked.len() == KEPT {
                self.checked.pop_front();
            }
            self.checked.push_back((digest.clone(), sha256(state.as_bytes())));
            digest
        });
        json(&Checked { admitted, text: &text, digest })
    }

    /// Applies the change that a body confirms.
    ///
    /// # Errors
    /// It was not checked and admitted by this server as it is now, its link has changed since, or it fails.
    pub fn apply(&mut self, body: &str) -> Result<String, Refusal> {
        let Confirmation { digest, change } = read(body)?;
        let Some(device) = &change.device else {
            return Err(Refusal::Input("name the device of the link to change".to_owned()));
        };
        let conflict = |why: &str| Err(Refusal::Conflict(format!("{why}; check it again")));
        if digest != digest_of(&change) {
            return conflict("this is another change than the one that was checked");
        }
        let Some(place) = self.checked.iter().position(|(checked, _)| *checked == digest) else {
            return conflict("this change was not checked and admitted by this server");
        };
        // Confirmed once, whatever comes of it.
        let (_, before) = self.checked.remove(place).unwrap_or_default();
        if sha256(self.target.state(device)?.as_bytes()) != before {
            return conflict("the link has changed since the check");
        }
        let text = self.target.apply(device, &change)?;
        json(&Applied { text: &text })
    }
}

fn read<T: for<'a> Deserialize<'a>>(body: &str) -> Result<T, Refusal> {
    serde_json::from_str(body).map_err(|e| Refusal::Input(format!("the request: {e}")))
}

fn json<T: Serialize>(value: &T) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|e| Refusal::Internal(e.to_string()))
}

/// Of a change in the one form in which it is written.
fn digest_of(change: &Change) -> String {
    sha256(serde_json::to_string(change).unwrap_or_default().as_bytes())
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link whose state is a number, and the changes made to it.
    #[derive(Default)]
    struct Link {
        state: u32,
        applied: Vec<Change>,
    }

    impl Target for &mut Link {
        fn state(&mut self, device: &str) -> Result<String, Refusal> {
            match device {
                "eth0" => Ok(self.state.to_string()),
                other => Err(Refusal::Input(format!("no link on {other}"))),
            }
        }

        fn check(&mut self, change: &Change) -> Result<Verdict, Refusal> {
            let admitted = change.scenario.as_deref() != Some("too much");
            Ok(Verdict { admitted, text: "checked".to_owned() })
        }

        fn apply(&mut self, _: &str, change: &Change) -> Result<String, Refusal> {
            self.applied.push(change.clone());
            self.state += 1;
            Ok("applied".to_owned())
        }
    }

    fn change(scenario: &str) -> Change {
        let (device, scenario) = (Some("eth0".to_owned()), Some(scenario.to_owned()));
        Change { device, scenario, rate: None }
    }

    fn checked(changes: &mut Changes<&mut Link>, change: &Change) -> Option<String> {
        let answer = changes.check(&serde_json::to_string(change).unwrap()).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        answer.get("digest").map(|digest| digest.as_str().unwrap().to_owned())
    }

    fn confirm(
        changes: &mut Changes<&mut Link>,
        digest: &str,
        change: &Change,
    ) -> Result<String, Refusal> {
        let body = serde_json::json!({"digest": digest, "change": change});
        changes.apply(&body.to_string())
    }

    /// Fails when a change takes effect that was not checked, was not admitted, differs by a character from the
    /// one checked, was confirmed before, or whose link has changed since.
    #[test]
    fn only_what_was_checked_is_applied() {
        let mut link = Link::default();
        let mut changes = Changes::new(&mut link);
        let (good, other) = (change("text"), change("text "));
        let unchecked = digest_of(&good);
        let conflict = |answer: Result<String, Refusal>, why: &str| match answer {
            Err(Refusal::Conflict(text)) => assert!(text.contains(why), "{text}"),
            other => panic!("{other:?}"),
        };
        conflict(confirm(&mut changes, &unchecked, &good), "not checked");
        assert_eq!(checked(&mut changes, &change("too much")), None);
        let refused = change("too much");
        conflict(confirm(&mut changes, &digest_of(&refused), &refused), "not checked and admitted");
        let digest = checked(&mut changes, &good).expect("admitted");
        conflict(confirm(&mut changes, &digest, &other), "another change");
        conflict(confirm(&mut changes, &digest_of(&other), &other), "not checked");
        let rate = Change { rate: Some("1 Mbit/s".to_owned()), scenario: None, ..good.clone() };
        let of_rate = checked(&mut changes, &rate).expect("admitted");
        assert_eq!(confirm(&mut changes, &digest, &good).unwrap(), r#"{"text":"applied"}"#);
        conflict(confirm(&mut changes, &digest, &good), "not checked");
        conflict(confirm(&mut changes, &of_rate, &rate), "has changed since");
        assert_eq!(link.applied, [good]);
    }

    /// Fails when a change that was checked twice is applied twice after one confirmation.
    #[test]
    fn a_change_is_confirmed_once() {
        let mut link = Link::default();
        let mut changes = Changes::new(&mut link);
        let change = change("text");
        checked(&mut changes, &change).expect("admitted");
        let digest = checked(&mut changes, &change).expect("admitted");
        assert!(confirm(&mut changes, &digest, &change).is_ok());
        // Back at what it was when the change was checked.
        changes.target.state -= 1;
        let again = confirm(&mut changes, &digest, &change);
        assert!(matches!(again, Err(Refusal::Conflict(why)) if why.contains("not checked")));
        assert_eq!(link.applied.len(), 1);
    }

    /// Fails when a request without a meaning is taken for one with, or the changes that are kept grow.
    #[test]
    fn requests_are_typed_and_bounded() {
        let mut link = Link::default();
        let mut changes = Changes::new(&mut link);
        for body in [
            "",
            "{}",
            r#"{"device":"eth0"}"#,
            r#"{"rate":"1 Mbit/s"}"#,
            r#"{"device":"eth0","rate":"1 Mbit/s","scenario":"x"}"#,
            r#"{"scenario":"x","policy":"exact"}"#,
            r#"{"device":"lo","scenario":"x"}"#,
        ] {
            assert!(matches!(changes.check(body), Err(Refusal::Input(_))), "{body}");
            assert!(matches!(changes.apply(body), Err(Refusal::Input(_))), "{body}");
        }
        // Without a device there is nothing to confirm.
        let alone = Change { device: None, ..change("text") };
        assert_eq!(checked(&mut changes, &alone), None);
        let first = checked(&mut changes, &change("0")).unwrap();
        for n in 1..=KEPT {
            checked(&mut changes, &change(&n.to_string())).unwrap();
        }
        assert_eq!(changes.checked.len(), KEPT);
        let forgotten = confirm(&mut changes, &first, &change("0"));
        assert!(matches!(forgotten, Err(Refusal::Conflict(_))));
    }
}
