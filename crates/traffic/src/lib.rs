//! Packets before any policy has seen them: what simulations and the live link have in common.
//!
//! ```
//! use laxity_core::FlowId;
//! use laxity_scenario::link::model::Scenario;
//! use laxity_trace::{LinkType, decode};
//! use laxity_traffic::classify::{classifier, key};
//!
//! let text = r#"
//!     [link]
//!     rate = "10 Mbit/s"
//!
//!     [[realtime]]
//!     name = "voice"
//!     deadline = "5 ms"
//!     envelope = { period = "20 ms", size = "200 B" }
//!     match = { dscp = 46 }
//! "#;
//! let scenario = Scenario::parse(text, "voice.toml")?;
//! let classifier = classifier(&scenario);
//! let mut header = [0; 20];
//! (header[0], header[1], header[3]) = (0x45, 46 << 2, 20);
//! let flow = |header: &[u8]| classifier.classify(&key(&decode(LinkType::RAW, header)));
//! assert_eq!(flow(&header), FlowId(0));
//! header[1] = 0;
//! assert_eq!(flow(&header), scenario.other());
//! # Ok::<(), laxity_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

pub mod arrival;
pub mod classify;
pub mod flow_key;

pub use arrival::{Arrival, Arrivals, Merge};
pub use flow_key::{FlowHasher, FlowKeys};
