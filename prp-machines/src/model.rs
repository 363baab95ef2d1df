//! The models of network cards that QEMU emulates.

use crate::failure::{Failure, Outcome};

/// A model of a network card.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Model {
    /// As users name it.
    pub(crate) name: &'static str,
    /// QEMU's device, with its options.
    pub(crate) device: &'static str,
    /// The kernel's modules for it.
    pub(crate) modules: &'static [&'static str],
    /// Queues in each direction that the device offers; more than one need a tap device.
    pub(crate) queues: u32,
    /// The bus that the device needs beside PCI.
    pub(crate) bus: Option<&'static str>,
}

/// All models, in the order of the table that is printed.
pub(crate) const ALL: [Model; 10] = [
    Model { name: "e1000", device: "e1000", modules: &["e1000"], queues: 1, bus: None },
    Model { name: "e1000e", device: "e1000e", modules: &["e1000e"], queues: 1, bus: None },
    Model {
        name: "virtio-net",
        device: "virtio-net-pci",
        modules: &["virtio_net"],
        queues: 1,
        bus: None,
    },
    Model {
        name: "virtio-net-4",
        device: "virtio-net-pci,mq=on,vectors=10",
        modules: &["virtio_net"],
        queues: 4,
        bus: None,
    },
    Model { name: "rtl8139", device: "rtl8139", modules: &["8139cp"], queues: 1, bus: None },
    Model { name: "vmxnet3", device: "vmxnet3", modules: &["vmxnet3"], queues: 1, bus: None },
    Model { name: "tulip", device: "tulip", modules: &["tulip"], queues: 1, bus: None },
    Model { name: "pcnet", device: "pcnet", modules: &["pcnet32"], queues: 1, bus: None },
    Model { name: "i82559", device: "i82559er", modules: &["e100"], queues: 1, bus: None },
    Model {
        name: "usb-net",
        device: "usb-net",
        modules: &["xhci_pci", "cdc_ether", "rndis_host"],
        queues: 1,
        bus: Some("qemu-xhci"),
    },
];

impl Model {
    /// Why a device on top cannot give a card an address while it is up, if it cannot.
    pub(crate) fn keeps_its_address(&self) -> Option<&'static str> {
        (self.device == "pcnet").then_some("a pcnet that is up takes no other address")
    }

    /// Why the kernel does not learn that a card's cable is pulled, if it does not: QEMU's e1000e
    /// never withdraws the interrupt of the first change of the link, and raises none for others.
    pub(crate) fn hides_its_cable(&self) -> Option<&'static str> {
        (self.device == "e1000e").then_some("QEMU's e1000e tells the kernel of no pulled cable")
    }

    /// The model of the other machine where there are two.
    pub(crate) fn partner(&self) -> &'static Self {
        let name = if self.device.starts_with("virtio") { "e1000e" } else { "virtio-net" };
        ALL.iter().find(|model| model.name == name).unwrap_or(&ALL[0])
    }

    /// The model called `name`.
    ///
    /// # Errors
    /// There is none; the text has all names.
    pub(crate) fn find(name: &str) -> Outcome<&'static Self> {
        ALL.iter().find(|model| model.name == name).ok_or_else(|| {
            let names: Vec<_> = ALL.iter().map(|model| model.name).collect();
            Failure::new(format!("no model {name}: choose among {}", names.join(", ")))
        })
    }
}
