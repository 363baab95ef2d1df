use proptest::prelude::*;

use super::{Seq, SeqWidth};

#[test]
fn since__wraps_at_32_bits() {
    assert_eq!(Seq::new(2).since(Seq::new(u32::MAX)), 3);
    assert_eq!(Seq::new(u32::MAX).since(Seq::new(2)), -3);
    assert!(Seq::new(u32::MAX).before(Seq::new(0)));
}

#[test]
fn expand__crosses_the_16_bit_wrap_in_both_directions() {
    let near = Seq::new(0x1_0002);
    assert_eq!(Seq::expand(0xffff, SeqWidth::Bits16, near), Seq::new(0xffff));
    assert_eq!(Seq::expand(0x0001, SeqWidth::Bits16, Seq::new(0xffff)), Seq::new(0x1_0001));
}

#[test]
fn expand__crosses_the_20_bit_wrap_and_the_32_bit_wrap() {
    assert_eq!(Seq::expand(3, SeqWidth::Bits20, Seq::new(0xf_fffe)), Seq::new(0x10_0003));
    assert_eq!(Seq::expand(3, SeqWidth::Bits20, Seq::new(0xffff_fffe)), Seq::new(3));
    assert_eq!(Seq::expand(0xf_fffe, SeqWidth::Bits20, Seq::new(3)), Seq::new(0xffff_fffe));
}

proptest! {
    /// SPEC PRP-SEQ-3: anything within half the range of the expected number comes back whole.
    #[test]
    fn expand__restores_what_truncate_removed(near: u32, ahead in -0x7fffi32..0x7fff) {
        let near = Seq::new(near);
        let seq = near + ahead.cast_unsigned();
        for width in [SeqWidth::Bits16, SeqWidth::Bits20] {
            prop_assert_eq!(Seq::expand(seq.truncate(width), width, near), seq);
        }
    }
}
