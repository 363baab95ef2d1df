//! What a program sees of a frame (`struct __sk_buff`), calls that copy it, and what it may say of
//! it, as linux/bpf.h has them.

/// The frame's length.
pub const LEN: i16 = 0;
/// The kind of its destination, as `sockaddr_ll` says it.
pub const KIND: i16 = 4;
/// Its EtherType, as it is in the frame.
pub const PROTOCOL: i16 = 16;
/// Not 0 if it has a tag.
pub const VLAN_PRESENT: i16 = 20;
/// Where the part of it begins that lies in one piece.
pub const DATA: i16 = 76;
/// Where that ends.
pub const DATA_END: i16 = 80;
/// Bytes of payload that each datagram of a GSO batch has, but the last one; 0 for what is no GSO
/// batch.
pub const GSO_SIZE: i16 = 176;

/// Writes to the frame.
pub const STORE_BYTES: i32 = 9;
/// Has it go to another device.
pub const REDIRECT: i32 = 23;
/// Reads it.
pub const LOAD_BYTES: i32 = 26;

/// Other programs see it, and then the stack.
pub const NEXT: i32 = -1;
/// No program here uses it.
pub const DROP: i32 = 2;
