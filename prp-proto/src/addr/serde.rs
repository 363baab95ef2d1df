//! Addresses in serde's formats: as text where people read them, as numbers elsewhere.

use alloc::string::ToString;
use core::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{NodeId, Port, PrpAddr};

/// A node and a port as numbers.
type Numbers = (u16, u16);

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.number())
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u16::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}

impl Serialize for Port {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u16(self.number())
    }
}

impl<'de> Deserialize<'de> for Port {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u16::deserialize(deserializer).map(Self::new)
    }
}

impl Serialize for PrpAddr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.serialize_str(&self.to_string());
        }
        let numbers: Numbers = (self.node.number(), self.port());
        numbers.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PrpAddr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return deserializer.deserialize_str(Text);
        }
        Numbers::deserialize(deserializer)?.try_into().map_err(D::Error::custom)
    }
}

/// Parses what `Display` prints.
struct Text;

impl Visitor<'_> for Text {
    type Value = PrpAddr;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address such as 3:80")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<PrpAddr, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests;
