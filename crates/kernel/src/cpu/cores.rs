//! Cores whose CPUs share execution units (SMT).

/// The CPUs of each core that has several; any other CPU is a core of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cores(Vec<Vec<u32>>);

impl Cores {
    /// From the CPUs of each core.
    pub fn new(cores: impl IntoIterator<Item = Vec<u32>>) -> Cores {
        let mut cores: Vec<Vec<u32>> = cores.into_iter().filter(|core| core.len() > 1).collect();
        cores.sort();
        cores.dedup();
        Cores(cores)
    }

    /// Whether two CPUs are of one core.
    pub fn share(&self, a: u32, b: u32) -> bool {
        a == b || self.0.iter().any(|core| core.contains(&a) && core.contains(&b))
    }
}
