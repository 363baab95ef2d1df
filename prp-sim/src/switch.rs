//! A switch: stores, finds the port of the address, forwards. Its queues are those of the links
//! behind its ports.

use std::collections::BTreeMap;

use prp_proto::addr::MacAddr;

/// Where a switch sends a frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) enum Forward {
    /// Out by one port.
    To(usize),
    /// The address is not known: out by all ports but the one it came in by.
    Flood,
    /// Nowhere: it came from where it would go.
    Nowhere,
}

/// A switch.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    table: BTreeMap<MacAddr, usize>,
    learning: bool,
}

impl Switch {
    /// One that has to see an address before it knows where it is.
    pub(crate) fn learning() -> Self {
        Self { table: BTreeMap::new(), learning: true }
    }

    /// One that was told.
    pub(crate) fn fixed(addresses: impl IntoIterator<Item = (MacAddr, usize)>) -> Self {
        Self { table: addresses.into_iter().collect(), learning: false }
    }

    /// Where `frame`, which came in by `port`, goes.
    pub(crate) fn forward(&mut self, port: usize, frame: &[u8]) -> Forward {
        let Some((dst, rest)) = frame.split_first_chunk() else { return Forward::Nowhere };
        let Some((src, _)) = rest.split_first_chunk() else { return Forward::Nowhere };
        if self.learning {
            self.table.insert(MacAddr(*src), port);
        }
        match self.table.get(&MacAddr(*dst)) {
            Some(to) if *to == port => Forward::Nowhere,
            Some(to) => Forward::To(*to),
            None => Forward::Flood,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(dst: u8, src: u8) -> Vec<u8> {
        [[2, 0, 0, 0, 0, dst], [2, 0, 0, 0, 0, src]].concat()
    }

    #[test]
    fn forward__floods_until_it_has_learned() {
        let mut switch = Switch::learning();
        assert_eq!(switch.forward(0, &frame(2, 1)), Forward::Flood);
        assert_eq!(switch.forward(1, &frame(1, 2)), Forward::To(0));
        assert_eq!(switch.forward(0, &frame(2, 1)), Forward::To(1));
        assert_eq!(switch.forward(1, &frame(2, 1)), Forward::Nowhere);
        assert_eq!(switch.forward(0, b"short"), Forward::Nowhere);
    }

    #[test]
    fn forward__fixed_table_learns_nothing() {
        let mut switch = Switch::fixed([(MacAddr([2, 0, 0, 0, 0, 2]), 5)]);
        assert_eq!(switch.forward(0, &frame(2, 1)), Forward::To(5));
        assert_eq!(switch.forward(5, &frame(1, 2)), Forward::Flood);
    }
}
