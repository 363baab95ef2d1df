//! PACKET_RX_RING, TPACKET_V3: frames of any size one behind the other in blocks, which the kernel
//! and the process pass to each other.

use std::io;
use std::mem::offset_of;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libc::{sockaddr_ll, tpacket_block_desc, tpacket_hdr_v1, tpacket3_hdr};

use prp_proto::hosts::Tag;

use super::memory::SharedMemory;
use super::packet::set;
use crate::capture::CapturedFrame;

/// Bytes of a block: some 650 full frames of an MTU of 1500, and more than the largest frame.
const BLOCK: usize = 1 << 20;

/// Blocks: 16 MiB are a few milliseconds of the fastest stream, in which the reader may be away.
const BLOCKS: usize = 16;

/// After this time a block that is not full is the reader's. Copies that processes make of their
/// frames wait twice as long for it, so that all come in order.
pub(crate) const RETIRE: Duration = Duration::from_millis(5);

/// A size that the kernel asks for, and that limits no frame in this version of rings.
const FRAME: usize = 2048;

/// Where a block has its header of version 1.
const HEADER: usize = offset_of!(tpacket_block_desc, hdr);

/// Where a frame's header is followed by the address (`TPACKET_ALIGN`).
const ADDRESS: usize = size_of::<tpacket3_hdr>().next_multiple_of(16);

/// Where a frame's header says the tag that the kernel has taken off.
const TAG: usize = offset_of!(tpacket3_hdr, hv1.tp_vlan_tci);

/// The ring of one packet socket.
#[derive(Debug)]
pub(crate) struct CaptureRing {
    memory: SharedMemory,
    /// The block that is handed over next.
    next: usize,
}

impl CaptureRing {
    /// Gives the socket a ring.
    ///
    /// # Errors
    /// `ENOMEM` and the like.
    pub(crate) fn new(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        set(fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: BLOCKS as u32,
            tp_frame_size: FRAME as u32,
            tp_frame_nr: (BLOCK / FRAME * BLOCKS) as u32,
            tp_retire_blk_tov: RETIRE.as_millis() as u32,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        Ok(Self { memory: SharedMemory::map(fd, BLOCK * BLOCKS)?, next: 0 })
    }

    /// Where the next block begins.
    fn block(&self) -> NonNull<u8> {
        // SAFETY: `next` is below `BLOCKS`, so the offset lies inside the mapping.
        unsafe { self.memory.base().add(self.next * BLOCK) }
    }

    /// The word by which kernel and process pass the next block to each other.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: the offset lies inside the block, which begins at a page, and is a multiple of
        // four. The kernel accesses the word from outside, as atomics allow.
        unsafe {
            let at = self.block().add(HEADER + offset_of!(tpacket_hdr_v1, block_status));
            at.cast::<AtomicU32>().as_ref()
        }
    }

    /// Passes the frames of the next block to `take`, if the kernel has let go of it; whether it
    /// has.
    pub(crate) fn take_block(&mut self, take: &mut dyn FnMut(&CapturedFrame<'_>)) -> bool {
        if self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the block lies inside the mapping, and the kernel does not touch it before it is
        // given back below, which this borrow does not outlive.
        let block = unsafe { std::slice::from_raw_parts(self.block().as_ptr(), BLOCK) };
        each_frame(block, take);
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % BLOCKS;
        true
    }
}

/// Passes the frames of `block` to `take`. Headers that do not fit end it: the kernel writes none.
fn each_frame(block: &[u8], take: &mut dyn FnMut(&CapturedFrame<'_>)) {
    let word = |at: usize| {
        let bytes = block.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let frame = |at: usize| {
        let field = |offset: usize| word(at + offset);
        let seconds = field(offset_of!(tpacket3_hdr, tp_sec))?;
        let nanos = field(offset_of!(tpacket3_hdr, tp_nsec))?;
        let len = field(offset_of!(tpacket3_hdr, tp_snaplen))? as usize;
        let begin = at + offset_of!(tpacket3_hdr, tp_mac);
        let begin =
            at + usize::from(u16::from_ne_bytes([*block.get(begin)?, *block.get(begin + 1)?]));
        let address = at + ADDRESS;
        let has_tag = field(offset_of!(tpacket3_hdr, tp_status))? & libc::TP_STATUS_VLAN_VALID != 0;
        let tag = field(TAG)?;
        let frame = CapturedFrame {
            tag: if has_tag { Tag::of(tag as u16) } else { Tag::default() },
            time: Duration::new(seconds.into(), nanos),
            device: word(address + offset_of!(sockaddr_ll, sll_ifindex))?,
            is_outgoing: *block.get(address + offset_of!(sockaddr_ll, sll_pkttype))?
                == libc::PACKET_OUTGOING,
            bytes: block.get(begin..begin + len)?,
            len: field(offset_of!(tpacket3_hdr, tp_len))? as usize,
        };
        Some((frame, field(offset_of!(tpacket3_hdr, tp_next_offset))?))
    };
    let header = |offset: usize| word(HEADER + offset).unwrap_or_default();
    let mut at = header(offset_of!(tpacket_hdr_v1, offset_to_first_pkt)) as usize;
    for _ in 0..header(offset_of!(tpacket_hdr_v1, num_pkts)) {
        let Some((captured, next)) = frame(at) else { return };
        take(&captured);
        at += next as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block as the kernel fills it, with frames of these lengths.
    fn block(lens: &[usize]) -> Vec<u8> {
        let mut block = vec![0; 8192];
        let mut put = |at: usize, value: usize| {
            block[at..at + 4].copy_from_slice(&(value as u32).to_ne_bytes());
        };
        put(HEADER + offset_of!(tpacket_hdr_v1, num_pkts), lens.len());
        let mut at = 48;
        put(HEADER + offset_of!(tpacket_hdr_v1, offset_to_first_pkt), at);
        for (n, len) in lens.iter().enumerate() {
            let size = (82 + len).next_multiple_of(16);
            put(at + offset_of!(tpacket3_hdr, tp_next_offset), size);
            put(at + offset_of!(tpacket3_hdr, tp_sec), n);
            put(at + offset_of!(tpacket3_hdr, tp_nsec), 7);
            put(at + offset_of!(tpacket3_hdr, tp_snaplen), *len);
            put(at + offset_of!(tpacket3_hdr, tp_len), 2 * len);
            put(at + offset_of!(tpacket3_hdr, tp_mac), 82);
            put(at + ADDRESS + offset_of!(sockaddr_ll, sll_ifindex), 3);
            at += size;
        }
        block
    }

    #[test]
    fn each_frame__in_order_with_its_length_and_time() {
        let mut found = Vec::new();
        each_frame(&block(&[60, 1514, 1]), &mut |frame| {
            assert_eq!((frame.device, frame.is_outgoing), (3, false));
            assert_eq!(frame.len, 2 * frame.bytes.len());
            found.push((frame.bytes.len(), frame.time));
        });
        let time = |n| Duration::new(n, 7);
        assert_eq!(found, [(60, time(0)), (1514, time(1)), (1, time(2))]);
    }

    #[test]
    fn each_frame__the_tag_that_the_kernel_says() {
        let mut bytes = block(&[60]);
        let tag = |bytes: &[u8]| {
            let mut tag = Tag::default();
            each_frame(bytes, &mut |frame| tag = frame.tag);
            tag
        };
        bytes[48 + TAG..][..4].copy_from_slice(&0xa007_u32.to_ne_bytes());
        assert_eq!(tag(&bytes), Tag::default(), "without a tag the field is undefined");
        let status = 48 + offset_of!(tpacket3_hdr, tp_status);
        bytes[status..status + 4].copy_from_slice(&libc::TP_STATUS_VLAN_VALID.to_ne_bytes());
        assert_eq!(tag(&bytes), Tag::new(7, 5));
        bytes[48 + TAG..][..4].copy_from_slice(&0xa000_u32.to_ne_bytes());
        assert_eq!(tag(&bytes), Tag::new(0, 5), "a priority is no VLAN");
    }

    #[test]
    fn each_frame__none_that_does_not_fit() {
        let mut count = 0;
        each_frame(&block(&[60, 9000]), &mut |_| count += 1);
        assert_eq!(count, 1);
    }
}
