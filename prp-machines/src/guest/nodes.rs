//! Nodes within a machine: network and mount namespaces.

use std::collections::HashMap;
use std::fs::{self, File};
use std::sync::{Mutex, PoisonError};
use std::thread;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};

use crate::failure::{Context, Failure, Outcome};
use crate::guest::SCRATCH;

/// The namespaces of a node. They last until this is dropped and no process is in them.
#[derive(Debug)]
struct Namespaces {
    net: File,
    mnt: File,
}

/// The nodes of this machine.
#[derive(Debug, Default)]
pub(super) struct Nodes(Mutex<HashMap<u8, Namespaces>>);

impl Nodes {
    /// Makes a node without cards. Its network namespace is bound to the file `NODE.net` of the
    /// scratch folder, where ip(8) finds it.
    pub(super) fn add(&self, node: u8) -> Outcome {
        // Only this thread leaves the namespaces of the others.
        let made = thread::spawn(move || enter_new(node)).join();
        let namespaces = made.map_err(|_| Failure::new("a thread has panicked"))??;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(node, namespaces);
        Ok(())
    }

    /// Has the calling thread enter a node, with the processes that it starts from then on.
    pub(super) fn enter(&self, node: u8) -> Outcome {
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let namespaces = nodes.get(&node).ok_or_else(|| Failure::new(format!("no node {node}")))?;
        // A thread that shares its root and working directory with others may not leave.
        unshare(CloneFlags::CLONE_FS).context("unshare")?;
        setns(&namespaces.net, CloneFlags::CLONE_NEWNET).context("setns")?;
        setns(&namespaces.mnt, CloneFlags::CLONE_NEWNS).context("setns")
    }

    /// Forgets all nodes. Those in which no process is any more are gone.
    pub(super) fn clear(&self) {
        for (node, _) in self.0.lock().unwrap_or_else(PoisonError::into_inner).drain() {
            // Neither may be there.
            let _ = umount2(net_file(node).as_str(), MntFlags::MNT_DETACH);
            let _ = fs::remove_file(net_file(node));
        }
    }
}

fn net_file(node: u8) -> String {
    format!("{SCRATCH}/{node}.net")
}

fn enter_new(node: u8) -> Outcome<Namespaces> {
    let none = None::<&str>;
    let bound = net_file(node);
    File::create(&bound)?;
    // Without it programs complain that they cannot replace it.
    File::create("/etc/prphosts")?;
    let hosts = format!("{SCRATCH}/{node}.prphosts");
    File::create(&hosts)?;
    unshare(CloneFlags::CLONE_NEWNET).context("unshare")?;
    let own_net = "/proc/thread-self/ns/net";
    mount(Some(own_net), bound.as_str(), none, MsFlags::MS_BIND, none).context(&bound)?;
    unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS).context("unshare")?;
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount(none, "/", none, private, none).context("/")?;
    // It shows the devices of the namespace in which it was mounted.
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none).context("/sys")?;
    for (kind, at) in [("bpf", "/sys/fs/bpf"), ("cgroup2", "/sys/fs/cgroup")] {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), none).context(at)?;
    }
    mount(Some(hosts.as_str()), "/etc/prphosts", none, MsFlags::MS_BIND, none).context(&hosts)?;
    let mnt = File::open("/proc/thread-self/ns/mnt")?;
    Ok(Namespaces { net: File::open(own_net)?, mnt })
}
