//! The settings of HFSC among which one is chosen.
//!
//! Real-time classes have a real-time curve each: voice by its deadline, video from the curve that
//! lets it go at once to convex ones that hold it back, as long as its last packet is in time
//! (`late`: part of the deadline during which nothing is due). Beside that they may share in what
//! is left over or not, and best effort shares the rest equally or by its offered load.

/// A setting: its number, and the words of `tc` for the four classes.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// `voice`, `video`, `http`, `bulk`.
    pub classes: [String; 4],
}

impl Setting {
    /// A job of the virtual machine: on a trace of so many seconds.
    pub fn job(&self, seconds: u64) -> String {
        let classes = self.classes.join(";");
        format!("{};hfsc-grid;trace.csv;{seconds};{classes}", self.name)
    }
}

/// All settings.
pub fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for voice_ms in [4, 6, 8] {
        for video in video_curves() {
            for link_share in [None, Some(10), Some(700), Some(2500)] {
                for (http, bulk) in [(600, 600), (800, 500)] {
                    let share = |own: u64| match link_share {
                        None => String::new(),
                        Some(part) => format!(" ls m2 {}bps", own * part),
                    };
                    let name = format!(
                        "voice{voice_ms}-{}-ls{}-be{http}:{bulk}",
                        video.0,
                        link_share.unwrap_or(0)
                    );
                    let classes = [
                        format!("rt umax 200b dmax {voice_ms}ms rate 44000bps{}", share(60)),
                        format!("{}{}", video.1, share(900)),
                        format!("ls m2 {http}000bps"),
                        format!("ls m2 {bulk}000bps"),
                    ];
                    settings.push(Setting { name, classes });
                }
            }
        }
    }
    settings
}

/// Real-time curves for a frame of 63000 B every 100 ms: name and words.
fn video_curves() -> Vec<(String, String)> {
    let mut curves = Vec::new();
    // By the contract: the frame within so many ms.
    for ms in [80, 90, 95, 97, 98, 99, 100] {
        let words = format!("rt umax 63000b dmax {ms}ms rate 640000bps");
        curves.push((format!("within{ms}"), words));
    }
    // Held back first, then the rest of the frame until 97 ms.
    for late in [5, 10, 15, 20] {
        let rate = 63_000 * 1000 / (97 - late);
        let words = format!("rt m1 0bps d {late}ms m2 {rate}bps");
        curves.push((format!("late{late}"), words));
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when two settings are one, or the grid gets smaller than documented.
    #[test]
    fn the_grid_is_large() {
        let settings = settings();
        let lines: std::collections::HashSet<String> = settings.iter().map(|s| s.job(1)).collect();
        assert!(lines.len() >= 200 && lines.len() == settings.len(), "{}", lines.len());
    }
}
