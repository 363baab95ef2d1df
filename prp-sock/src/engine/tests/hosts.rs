//! prphosts, which changes while programs run.

use std::fs;

use prp_node::HostsFile;

use crate::testing::Pair;

/// A thread may have read prphosts before another one did, and come after it.
#[test]
fn follow_hosts__of_two_readings_the_later_one_stays_in_force() {
    let pair = Pair::new();
    let engine = pair.alpha.engine();
    let beta = pair.beta.addr(80).node;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prphosts");
    let alone = format!("{} 02:00:00:00:00:01 eth0\n", engine.local_node());
    let reading = |text: &str| {
        fs::write(&path, text).unwrap();
        HostsFile::cached(&path).unwrap()
    };
    let earlier = reading(&alone);
    let later = reading(&format!("{alone}{beta} 02:00:00:00:00:02 eth0\n"));
    for file in [&later, &earlier] {
        engine.follow_hosts(file);
        assert_eq!(engine.lock().endpoint.routes().lookup(beta).next_hops().len(), 1);
    }
}
