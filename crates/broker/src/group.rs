//! Groups by name.

/// The number of a group, by its name or number.
pub fn group(name: &str) -> Option<u32> {
    let known = || nix::unistd::Group::from_name(name).ok().flatten();
    name.parse().ok().or_else(|| known().map(|group| group.gid.as_raw()))
}
