//! Instructions of the kernel's virtual machine (eBPF, RFC 9669), written down one by one, with
//! labels to jump to.

pub mod skb;

/// A register. R10 is the top of the stack, which grows down, and cannot be set.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Reg {
    /// What calls and the program return.
    R0,
    /// The first argument of a call; calls spoil R1 to R5.
    R1,
    /// The second.
    R2,
    /// The third.
    R3,
    /// The fourth.
    R4,
    /// The fifth.
    R5,
    /// Calls leave R6 to R9 alone.
    R6,
    /// As R6.
    R7,
    /// As R6.
    R8,
    /// As R6.
    R9,
    /// The top of the stack.
    R10,
}

/// How much a load or store moves.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Size {
    /// 8 bits.
    Byte = 0x10,
    /// 16 bits, in the machine's byte order.
    Half = 0x08,
    /// 32 bits.
    Word = 0x00,
    /// 64 bits.
    Double = 0x18,
}

/// What is done to a register, in 64 bits.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Alu {
    /// Adds.
    Add = 0x00,
    /// Subtracts.
    Sub = 0x10,
    /// Multiplies.
    Mul = 0x20,
    /// Bit by bit: either.
    Or = 0x40,
    /// Bit by bit: both.
    And = 0x50,
    /// Shifts to the left.
    Lsh = 0x60,
    /// Shifts to the right, zeros following.
    Rsh = 0x70,
    /// The rest of a division.
    Mod = 0x90,
    /// Bit by bit: one of both.
    Xor = 0xa0,
    /// Replaces.
    Mov = 0xb0,
}

/// When a jump is taken, unsigned, in 64 bits.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum When {
    /// Equal.
    Eq = 0x10,
    /// Greater.
    Gt = 0x20,
    /// Greater or equal.
    Ge = 0x30,
    /// Not equal.
    Ne = 0x50,
}

/// The second operand: a register or a number, which is extended with its sign.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// A number.
    Number(i32),
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Self {
        Self::Reg(reg)
    }
}

impl From<i32> for Operand {
    fn from(number: i32) -> Self {
        Self::Number(number)
    }
}

/// A place to jump to.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Label(usize);

// Classes and modes of RFC 9669.
const LD: u8 = 0;
const LDX: u8 = 1;
const STX: u8 = 3;
const JMP: u8 = 5;
const ALU64: u8 = 7;
const MEM: u8 = 0x60;
const ATOMIC: u8 = 0xc0;
const FETCH: i32 = 1;
const EXCHANGE: i32 = 0xe0 | FETCH;
const COMPARE_EXCHANGE: i32 = 0xf0 | FETCH;
const DOUBLE_NUMBER: u8 = LD | Size::Double as u8;
const MOV32: u8 = 0xbc;
const TO_BIG_ENDIAN: u8 = 0xdc;
const CALL: u8 = 0x80 | JMP;
const EXIT: u8 = 0x90 | JMP;
const FROM_REGISTER: u8 = 0x08;
/// The number is the descriptor of a map, whose only value is meant.
const MAP_VALUE: u8 = 2;

/// A program that is being written.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<u64>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// A place that is not known yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// `label` is here.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// `to` = what lies `offset` bytes from `from`.
    pub fn load(&mut self, size: Size, to: Reg, from: Reg, offset: i16) {
        self.op(LDX | MEM | size as u8, to as u8, from as u8, offset, 0);
    }

    /// What lies `offset` bytes from `to` = `from`.
    pub fn store(&mut self, size: Size, to: Reg, offset: i16, from: Reg) {
        self.op(STX | MEM | size as u8, to as u8, from as u8, offset, 0);
    }

    /// Adds `from` to the 64 bits `offset` bytes from `to`, in one step for all processors.
    pub fn add_atomically(&mut self, to: Reg, offset: i16, from: Reg) {
        self.op(STX | ATOMIC | Size::Double as u8, to as u8, from as u8, offset, 0);
    }

    /// As [`Self::add_atomically`]; `from` becomes what was there. What comes before it in the
    /// program happens before it, for all processors, and what comes behind it happens after it.
    pub fn fetch_add(&mut self, to: Reg, offset: i16, from: Reg) {
        self.op(STX | ATOMIC | Size::Double as u8, to as u8, from as u8, offset, FETCH);
    }

    /// The 64 bits `offset` bytes from `to` = `from`, and `from` = what was there, in one step for
    /// all processors; ordered as [`Self::fetch_add`] is.
    pub fn exchange(&mut self, to: Reg, offset: i16, from: Reg) {
        self.op(STX | ATOMIC | Size::Double as u8, to as u8, from as u8, offset, EXCHANGE);
    }

    /// The 64 bits `offset` bytes from `to` = `from` if they are as R0 has them, and R0 = what was
    /// there, in one step for all processors; ordered as [`Self::fetch_add`] is.
    pub fn compare_exchange(&mut self, to: Reg, offset: i16, from: Reg) {
        self.op(STX | ATOMIC | Size::Double as u8, to as u8, from as u8, offset, COMPARE_EXCHANGE);
    }

    /// `to` = `to` `what` `operand`.
    pub fn alu(&mut self, what: Alu, to: Reg, operand: impl Into<Operand>) {
        self.with_operand(ALU64 | what as u8, to, operand.into(), 0);
    }

    /// `to` = `operand`.
    pub fn set(&mut self, to: Reg, operand: impl Into<Operand>) {
        self.alu(Alu::Mov, to, operand);
    }

    /// `to` = the lower 32 bits of `from`.
    pub fn set_low(&mut self, to: Reg, from: Reg) {
        self.op(MOV32, to as u8, from as u8, 0, 0);
    }

    /// `to` = `number`.
    pub fn set_double(&mut self, to: Reg, number: u64) {
        let (low, high) = (number as u32, (number >> 32) as u32);
        self.op(DOUBLE_NUMBER, to as u8, 0, 0, low.cast_signed());
        self.op(0, 0, 0, 0, high.cast_signed());
    }

    /// `to` = where the only value of map `descriptor` begins.
    pub fn set_map_value(&mut self, to: Reg, descriptor: i32) {
        self.op(DOUBLE_NUMBER, to as u8, MAP_VALUE, 0, descriptor);
        self.op(0, 0, 0, 0, 0);
    }

    /// `to` = its lower 16 bits, read in network byte order.
    pub fn network_order(&mut self, to: Reg) {
        self.op(TO_BIG_ENDIAN, to as u8, 0, 0, 16);
    }

    /// Goes on at `label`.
    pub fn jump(&mut self, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.op(JMP, 0, 0, 0, 0);
    }

    /// Goes on at `label` if `left` is `when` to `right`.
    pub fn jump_if(&mut self, when: When, left: Reg, right: impl Into<Operand>, label: Label) {
        self.jumps.push((self.code.len(), label));
        self.with_operand(JMP | when as u8, left, right.into(), 0);
    }

    /// R0 = what the kernel's function `number` returns for R1 to R5.
    pub fn call(&mut self, number: i32) {
        self.op(CALL, 0, 0, 0, number);
    }

    /// The end: R0 is the verdict.
    pub fn exit(&mut self) {
        self.op(EXIT, 0, 0, 0, 0);
    }

    /// The program, as `struct bpf_insn`s lie in memory.
    ///
    /// # Panics
    /// If a label is nowhere, or too far.
    pub fn finish(mut self) -> Vec<u64> {
        for (at, label) in std::mem::take(&mut self.jumps) {
            let target = self.labels[label.0].expect("every label is bound");
            let distance = target as isize - at as isize - 1;
            let distance = i16::try_from(distance).expect("programs are short").to_ne_bytes();
            let mut bytes = self.code[at].to_ne_bytes();
            bytes[2..4].copy_from_slice(&distance);
            self.code[at] = u64::from_ne_bytes(bytes);
        }
        self.code
    }

    fn with_operand(&mut self, code: u8, to: Reg, operand: Operand, offset: i16) {
        match operand {
            Operand::Reg(from) => {
                self.op(code | FROM_REGISTER, to as u8, from as u8, offset, 0);
            }
            Operand::Number(number) => self.op(code, to as u8, 0, offset, number),
        }
    }

    fn op(&mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) {
        // Two fields of four bits, which C lays out from the low end or the high one as the machine
        // does bytes.
        let registers =
            if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
        let ([o0, o1], [n0, n1, n2, n3]) = (offset.to_ne_bytes(), number.to_ne_bytes());
        self.code.push(u64::from_ne_bytes([code, registers, o0, o1, n0, n1, n2, n3]));
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    fn bytes(write: impl FnOnce(&mut Assembler)) -> Vec<[u8; 8]> {
        let mut assembler = Assembler::default();
        write(&mut assembler);
        assembler.finish().into_iter().map(u64::to_ne_bytes).collect()
    }

    /// Against what other assemblers make of the same.
    #[test]
    fn finish__each_instruction_as_the_rfc_has_it() {
        let emitted = bytes(|a| {
            a.load(Size::Half, Reg::R1, Reg::R10, -18);
            a.store(Size::Double, Reg::R10, -32, Reg::R2);
            a.add_atomically(Reg::R9, 8, Reg::R1);
            a.fetch_add(Reg::R10, -48, Reg::R0);
            a.exchange(Reg::R8, 16, Reg::R2);
            a.compare_exchange(Reg::R9, 64, Reg::R1);
            a.alu(Alu::Rsh, Reg::R2, 56);
            a.alu(Alu::Or, Reg::R1, Reg::R2);
            a.set_low(Reg::R2, Reg::R1);
            a.set_double(Reg::R2, 0x1122_3344_5566_7788);
            a.set_map_value(Reg::R9, 7);
            a.network_order(Reg::R3);
            a.call(23);
            a.exit();
        });
        let expected: [[u8; 8]; 16] = [
            [0x69, 0xa1, 0xee, 0xff, 0, 0, 0, 0],
            [0x7b, 0x2a, 0xe0, 0xff, 0, 0, 0, 0],
            [0xdb, 0x19, 8, 0, 0, 0, 0, 0],
            [0xdb, 0x0a, 0xd0, 0xff, 1, 0, 0, 0],
            [0xdb, 0x28, 16, 0, 0xe1, 0, 0, 0],
            [0xdb, 0x19, 64, 0, 0xf1, 0, 0, 0],
            [0x77, 0x02, 0, 0, 56, 0, 0, 0],
            [0x4f, 0x21, 0, 0, 0, 0, 0, 0],
            [0xbc, 0x12, 0, 0, 0, 0, 0, 0],
            [0x18, 0x02, 0, 0, 0x88, 0x77, 0x66, 0x55],
            [0, 0, 0, 0, 0x44, 0x33, 0x22, 0x11],
            [0x18, 0x29, 0, 0, 7, 0, 0, 0],
            [0, 0, 0, 0, 0, 0, 0, 0],
            [0xdc, 0x03, 0, 0, 16, 0, 0, 0],
            [0x85, 0, 0, 0, 23, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(emitted, expected);
    }

    #[test]
    fn finish__jumps_lead_to_their_labels_in_both_directions() {
        let emitted = bytes(|a| {
            let (back, ahead) = (a.label(), a.label());
            a.bind(back);
            a.jump_if(When::Ne, Reg::R1, Reg::R2, ahead);
            a.jump_if(When::Ge, Reg::R1, 0xf0, back);
            a.jump(ahead);
            a.bind(ahead);
            a.exit();
        });
        assert_eq!(emitted[0], [0x5d, 0x21, 2, 0, 0, 0, 0, 0]);
        assert_eq!(emitted[1], [0x35, 0x01, 0xfe, 0xff, 0xf0, 0, 0, 0]);
        assert_eq!(emitted[2], [0x05, 0, 0, 0, 0, 0, 0, 0]);
    }
}
