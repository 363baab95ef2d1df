//! The receive queues of a card: frames that are not of IP come by one of them.

use std::fs;
use std::path::Path;

use super::finding::{Finding, Kind};

/// Returns what is to be said of the card called `name`, if it has several receive queues. `folder`
/// is its folder in sysfs, `interrupts` the text of `/proc/interrupts`, and `ethertype` that of the
/// cluster's frames.
pub(super) fn finding(
    folder: &Path,
    name: &str,
    interrupts: &str,
    ethertype: u16,
) -> Option<Finding> {
    let queues = entries(&folder.join("queues")).filter(|queue| queue.starts_with("rx-")).count();
    if queues < 2 {
        return None;
    }
    let by = processor(folder, interrupts)
        .map_or_else(String::new, |number| format!(", whose interrupts processor {number} serves"));
    let cause = format!(
        "{name} has {queues} receive queues and spreads frames of IP only: all others come by the \
         first{by}"
    );
    let fix = format!(
        "if that processor is busy: `ethtool -N {name} flow-type ether proto {ethertype:#06x} action \
         QUEUE`, where the driver takes it; or `udp:ADDRESS` in prphosts"
    );
    Some(Finding::note(Kind::OneQueue, cause, &fix))
}

fn entries(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Returns the number of the processor that has served most interrupts of the first receive queue.
fn processor<'a>(folder: &Path, interrupts: &'a str) -> Option<&'a str> {
    // Those of a virtio device are in the folder of the PCI device that it is on.
    let places = ["device/msi_irqs", "device/../msi_irqs"];
    let own: Vec<String> = places.iter().flat_map(|place| entries(&folder.join(place))).collect();
    let mut lines = interrupts.lines();
    let processors: Vec<&str> = lines.next()?.split_whitespace().collect();
    let counts = lines.find_map(|line| {
        let (number, counts) = line.split_once(':')?;
        let is_own = own.iter().any(|own| own == number.trim());
        (is_own && is_first(line.split_whitespace().last()?)).then_some(counts)
    })?;
    let counts = counts.split_whitespace().map_while(|count| count.parse::<u64>().ok());
    let (count, most) = counts.zip(processors).max_by_key(|(count, _)| *count)?;
    most.strip_prefix("CPU").filter(|_| count > 0)
}

/// Whether an interrupt is of a first receive queue, by its name, as `eth0-TxRx-0` and
/// `virtio0-input.0`.
fn is_first(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["rx", "input"].iter().any(|word| name.contains(word))
        && ["-0", ".0"].iter().any(|number| name.ends_with(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &str = "\
           CPU0       CPU1
  1:          9          0   IO-APIC   1-edge      i8042
 25:          0          0  PCI-MSI-0000:00:03.0   0-edge      virtio0-config
 26:         17       4711  PCI-MSI-0000:00:03.0   1-edge      virtio0-input.0
 28:        999          0  PCI-MSI-0000:00:03.0   3-edge      virtio0-input.1
 30:         80          0  PCI-MSI-0000:00:04.0   1-edge      virtio1-input.0
 34:          0          0  PCI-MSI-0000:00:05.0   1-edge      virtio2-input.0
";

    /// What is found of a card with so many receive queues and these interrupts.
    fn found(queues: usize, interrupts: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let names = (0..queues).map(|queue| format!("queues/rx-{queue}"));
        let own = interrupts.iter().map(|number| format!("device/msi_irqs/{number}"));
        for name in names.chain(own).chain(["queues/tx-0".to_owned()]) {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        finding(folder.path(), "eth0", INTERRUPTS, 0x88b6).map(|found| found.to_string())
    }

    #[test]
    fn finding__several_queues_and_the_processor_of_the_first() {
        assert_eq!(found(0, &[]), None);
        assert_eq!(found(1, &["25", "26"]), None);
        let text = found(4, &["28", "25", "26"]).expect("a note");
        assert!(text.contains("4 receive queues") && text.contains("processor 1 serves"), "{text}");
        assert!(text.contains("proto 0x88b6 action"), "{text}");
        let text = found(2, &["30"]).expect("a note");
        assert!(text.contains("processor 0 serves"), "{text}");
        // Expect: no word of a processor where the interrupts are not known, or none came.
        for own in [&[][..], &["25", "28"], &["34"]] {
            let text = found(2, own).expect("a note");
            assert!(text.contains("the first") && !text.contains("serves"), "{text}");
        }
    }

    #[test]
    fn is_first__by_the_names_that_drivers_give() {
        for name in ["eth0-rx-0", "eth0-TxRx-0", "eth0-rxtx-0", "virtio0-input.0"] {
            assert!(is_first(name), "{name}");
        }
        for name in ["eth0", "eth0-tx-0", "eth0-rx-10", "eth0-TxRx-1", "virtio0-output.0"] {
            assert!(!is_first(name), "{name}");
        }
    }
}
