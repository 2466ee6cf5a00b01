use super::*;

// Fails when a name is longer than Linux takes, or two interfaces with long names share one.
#[test]
fn names_of_ifb_devices_fit() {
    assert_eq!(ifb_name("eth0", 7), "ifb-eth0");
    assert_eq!(ifb_name("enp0s31f6.7", 7), "ifb-enp0s31f6.7");
    assert_eq!(ifb_name("enx001122334455", 7), "ifb-7");
    assert_eq!(ifb_name("enx001122334455", u32::MAX), "ifb-4294967295");
}

// Fails when a device of somebody else is taken for ours, or one of ours is not found by its address.
#[test]
fn ifb_devices_are_recognised_by_their_address() {
    let device = |kind: &str, address: &[u8]| Interface {
        kind: kind.into(),
        address: address.to_vec(),
        ..Interface::default()
    };
    for index in [1, 300, u32::MAX] {
        assert_eq!(served_by(&device("ifb", &address(index))), Some(index));
        assert_eq!(served_by(&device("dummy", &address(index))), None);
        assert_eq!(address(index)[0] & 3, 2, "locally administered, of one interface");
    }
    assert_eq!(served_by(&device("ifb", &[2, 0x1b, 0, 0, 0, 1])), None);
    assert_eq!(served_by(&device("ifb", &[2, 0x1a])), None);
}

// Fails when a round trip loses anything, or other text is accepted as a record.
#[test]
fn records_come_back_as_they_were() {
    let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    for clsact in [false, true] {
        for features in [vec![], vec![(7, names(&["rx-gro", "rx-lro"])), (3, names(&["rx-gro"]))]] {
            let record = IngressRecord { clsact, features };
            let mut bytes = record.to_text().into_bytes();
            assert_eq!(IngressRecord::read(&bytes).as_ref(), Some(&record));
            bytes.resize(100, 0);
            assert_eq!(IngressRecord::read(&bytes).as_ref(), Some(&record));
        }
    }
    for text in ["", "kept", "added 7", "added x:rx-gro"] {
        assert_eq!(IngressRecord::read(text.as_bytes()), None, "{text}");
    }
}

// Fails when an interface below, where packets are joined, is left out, or another one is taken.
#[test]
fn interfaces_below_are_found() {
    let interface =
        |index, lower, master| Interface { index, lower, master, ..Interface::default() };
    let all = [
        interface(2, None, Some(5)),
        interface(3, None, Some(5)),
        interface(4, None, None),
        interface(5, None, None),
        interface(6, Some(5), None),
        interface(7, Some(4), None),
        // Two that name each other.
        interface(8, Some(9), None),
        interface(9, Some(8), None),
    ];
    let of = |index| below(&all, index).into_iter().collect::<Vec<_>>();
    assert_eq!(of(6), [2, 3, 5, 6]);
    assert_eq!(of(7), [4, 7]);
    assert_eq!(of(8), [8, 9]);
    assert_eq!(of(4), [4]);
}
