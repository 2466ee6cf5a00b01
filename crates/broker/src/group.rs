//! Lookup of groups.

/// The id of a group, given by name or number.
pub fn group_id(name: &str) -> Option<u32> {
    let lookup = || nix::unistd::Group::from_name(name).ok().flatten();
    name.parse().ok().or_else(|| lookup().map(|group| group.gid.as_raw()))
}
