//! What makes the processors of this machine slow to wake, as the kernel shows it in sysfs.

use std::fs;
use std::path::Path;

use super::finding::{Finding, Kind};

/// The governor that keeps processors at their highest speed.
const FASTEST: &str = "performance";

/// A processor that wakes within this time costs a message no more than a system call does.
const SHORT_US: u32 = 5;

/// What is to be said of the processors where sysfs is `sysfs`.
pub(super) fn findings(sysfs: &Path) -> Vec<Finding> {
    let folder = sysfs.join("devices/system/cpu");
    let cpus: Vec<_> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_cpu(name))
        .collect();
    of_governors(&folder, &cpus).into_iter().chain(of_idle_states(&folder, &cpus)).collect()
}

/// Whether `name` is that of a processor's folder: `cpu0`, and not `cpufreq`.
fn is_cpu(name: &str) -> bool {
    let number = name.strip_prefix("cpu");
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn of_governors(folder: &Path, cpus: &[String]) -> Option<Finding> {
    let governor = |cpu: &String| word(&folder.join(cpu).join("cpufreq/scaling_governor"));
    let slow: Vec<_> = cpus.iter().filter_map(governor).filter(|name| name != FASTEST).collect();
    let first = slow.first()?;
    let cause = format!(
        "the governor of {} of {} processors is {first}: after a pause they begin slowly",
        slow.len(),
        cpus.len()
    );
    Some(Finding::warning(Kind::Governor, cause, "`cpupower frequency-set -g performance`"))
}

fn of_idle_states(folder: &Path, cpus: &[String]) -> Option<Finding> {
    let states = cpus.iter().flat_map(|cpu| {
        let folder = folder.join(cpu).join("cpuidle");
        (0..).map(move |number| folder.join(format!("state{number}"))).take_while(|it| it.exists())
    });
    let (latency, name) = states
        .filter(|state| word(&state.join("disable")).as_deref() != Some("1"))
        .filter_map(|state| {
            let latency = word(&state.join("latency"))?.parse::<u32>().ok()?;
            Some((latency, word(&state.join("name"))?))
        })
        .max()?;
    (latency > SHORT_US).then(|| {
        let cause = format!(
            "idle processors sleep as deep as {name}, from which they need {latency} us to wake: a \
             thread that waits for a message and does not spin is late by that"
        );
        let fix = format!("`cpupower idle-set -D {SHORT_US}`, at the price of power");
        Finding::warning(Kind::IdleStates, cause, &fix)
    })
}

fn word(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a tree like sysfs with these files of processors.
    fn found(files: &[(&str, &str)]) -> Vec<(Kind, String)> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join("devices/system/cpu").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        findings(folder.path()).into_iter().map(|found| (found.kind, found.cause)).collect()
    }

    #[test]
    fn findings__governors_that_save_power() {
        let governors = |second| {
            found(&[
                ("cpu0/cpufreq/scaling_governor", "performance\n"),
                ("cpu1/cpufreq/scaling_governor", second),
                ("cpufreq/boost", "1\n"),
            ])
        };
        assert_eq!(governors("performance\n"), []);
        let [(Kind::Governor, cause)] = &governors("powersave\n")[..] else { panic!("no finding") };
        assert!(cause.contains("1 of 2 processors is powersave"), "{cause}");
        assert_eq!(found(&[]), [], "a machine without such settings, as a guest");
    }

    #[test]
    fn findings__the_deepest_idle_state_that_is_allowed() {
        let states = |latency, disable| {
            found(&[
                ("cpu0/cpuidle/state0/name", "POLL\n"),
                ("cpu0/cpuidle/state0/latency", "0\n"),
                ("cpu0/cpuidle/state0/disable", "0\n"),
                ("cpu0/cpuidle/state1/name", "C6\n"),
                ("cpu0/cpuidle/state1/latency", latency),
                ("cpu0/cpuidle/state1/disable", disable),
            ])
        };
        let [(Kind::IdleStates, cause)] = &states("133\n", "0\n")[..] else { panic!("no finding") };
        assert!(cause.contains("as deep as C6, from which they need 133 us"), "{cause}");
        assert_eq!(states("133\n", "1\n"), [], "it is switched off");
        assert_eq!(states("2\n", "0\n"), []);
    }
}
