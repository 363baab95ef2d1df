//! What handles stand for.

mod attributes;
mod communicator;
mod file;
mod partitioned;
mod table;
mod window;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use prp_mpi::datatype::{Basic, Class, Constructor, Datatype};
use prp_mpi::matching::MessageId;
use prp_mpi::operation::Operation;
use prp_mpi::request::{RequestId, Status};

pub(crate) use self::attributes::{Attributes, with_attributes_of_type};
pub(crate) use self::communicator::{Comm, Group, HeldComm, Remote, forget_gone};
pub(crate) use self::file::{OpenFile, OwnRepresentation, Piece, Representation, View};
pub(crate) use self::partitioned::Partitioned;
pub(crate) use self::table::{Table, within_callback};
pub(crate) use self::window::{Epochs, Extent, Window, WindowMemory, WindowValues};
use crate::sys::callback::{Callback, Combiner};
use crate::sys::pointer::Address;

/// A handle of C: below [`Handle::FIRST`] it stands for something predefined.
#[derive(Copy, Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(transparent)]
pub(crate) struct Handle(pub(crate) usize);

impl Handle {
    /// The zero page: the standard keeps it for predefined handles.
    pub(crate) const FIRST: usize = 4096;

    pub(crate) const OP_NULL: Self = Self(0x20);
    pub(crate) const COMM_NULL: Self = Self(0x100);
    pub(crate) const WORLD: Self = Self(0x101);
    pub(crate) const SELF: Self = Self(0x102);
    pub(crate) const GROUP_NULL: Self = Self(0x108);
    pub(crate) const GROUP_EMPTY: Self = Self(0x109);
    pub(crate) const WIN_NULL: Self = Self(0x110);
    pub(crate) const FILE_NULL: Self = Self(0x118);
    pub(crate) const MESSAGE_NULL: Self = Self(0x128);
    pub(crate) const MESSAGE_NO_PROC: Self = Self(0x129);
    pub(crate) const INFO_NULL: Self = Self(0x130);
    pub(crate) const INFO_ENV: Self = Self(0x131);
    pub(crate) const ERRHANDLER_NULL: Self = Self(0x140);
    pub(crate) const ERRORS_ARE_FATAL: Self = Self(0x141);
    pub(crate) const ERRORS_ABORT: Self = Self(0x142);
    pub(crate) const ERRORS_RETURN: Self = Self(0x143);
    pub(crate) const REQUEST_NULL: Self = Self(0x180);
    pub(crate) const DATATYPE_NULL: Self = Self(0x200);
    pub(crate) const BYTE: Self = Self(0x247);
}

/// Keys and values.
pub(crate) type Info = Vec<(String, String)>;

/// An operation of reductions.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Op {
    Predefined(Operation),
    User { combiner: Combiner, commutes: bool },
}

/// An attribute key.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Key {
    pub(crate) copy: Callback,
    pub(crate) delete: Callback,
    pub(crate) extra: Address,
    /// The program has freed it: attributes that were set by it still have it.
    pub(crate) is_freed: bool,
}

/// A request.
#[derive(Clone)]
pub(crate) enum Req {
    /// In progress: its communicator, and what waits for it in reports.
    Active(RequestId, HeldComm, Detail),
    /// Done already.
    Done(Status),
    /// Can be started again and again.
    Persistent(
        Arc<dyn Fn() -> Result<Self, crate::api::error::Failure> + Send + Sync>,
        Option<Box<Self>>,
    ),
    /// Done when all parts of the message have gone or come.
    Partitioned(Arc<Partitioned>),
    /// The application says when it is done.
    Generalized(Arc<Generalized>),
}

/// What a request is for, in reports.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Detail {
    pub(crate) is_receive: bool,
    pub(crate) is_collective: bool,
    pub(crate) peer: i32,
    pub(crate) tag: i32,
    pub(crate) bytes: u64,
}

/// A request whose end the application tells.
#[derive(Debug)]
pub(crate) struct Generalized {
    pub(crate) query: Callback,
    pub(crate) free: Callback,
    pub(crate) cancel: Callback,
    pub(crate) extra: Address,
    /// [`Self::COMPLETE`] and [`Self::FREED`].
    pub(crate) state: AtomicI32,
}

impl Generalized {
    /// The application has said that it is done.
    pub(crate) const COMPLETE: i32 = 1;
    /// The application will not ask for it any more.
    pub(crate) const FREED: i32 = 2;

    /// Notes one of these. Whether the other one was noted before: then this is the last call.
    pub(crate) fn note(&self, what: i32) -> bool {
        let before = self.state.fetch_or(what, Ordering::SeqCst);
        (before | what) == Self::COMPLETE | Self::FREED && before != before | what
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.state.load(Ordering::SeqCst) & Self::COMPLETE != 0
    }
}

/// A datatype that the application has a handle of.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) datatype: Arc<Datatype>,
    pub(crate) name: String,
    pub(crate) attributes: Attributes,
    /// Operations that hand its handle to a function of the program have it, too.
    pub(crate) hold: Arc<()>,
}

impl Typed {
    /// A datatype without a name.
    pub(crate) fn new(datatype: Arc<Datatype>) -> Self {
        let attributes = Attributes::default();
        Self { datatype, name: String::new(), attributes, hold: Arc::default() }
    }
}

/// A message that a matched probe has found.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: MessageId,
    pub(crate) comm: HeldComm,
}

/// A function for errors.
pub(crate) static ERRHANDLERS: Table<Callback> = Table::new();
pub(crate) static COMMS: Table<Arc<Comm>> = Table::of_shared(|comm| Arc::strong_count(comm) > 1);
pub(crate) static GROUPS: Table<Group> = Table::new();
pub(crate) static INFOS: Table<Info> = Table::new();
pub(crate) static OPS: Table<Op> = Table::new();
pub(crate) static KEYS: Table<Key> = Table::new();
pub(crate) static REQUESTS: Table<Req> = Table::new();
pub(crate) static TYPES: Table<Typed> = Table::of_shared(|t| Arc::strong_count(&t.hold) > 1);
pub(crate) static MESSAGES: Table<Message> = Table::new();
pub(crate) static WINDOWS: Table<Arc<Window>> = Table::new();
pub(crate) static FILES: Table<Arc<OpenFile>> = Table::new();
pub(crate) static SESSIONS: Table<Handle> = Table::new();

/// Kinds of elements: handle, name, how they are read, bytes.
pub(crate) const BASICS: [(usize, &str, Class, u8); 52] = {
    use Class::{
        Byte, Character, Complex, Float, Logical, LongComplex, LongDouble, Signed, Unsigned,
    };
    [
        (0x201, "MPI_AINT", Signed, 8),
        (0x202, "MPI_COUNT", Signed, 8),
        (0x203, "MPI_OFFSET", Signed, 8),
        (0x207, "MPI_PACKED", Byte, 1),
        (0x208, "MPI_SHORT", Signed, 2),
        (0x209, "MPI_INT", Signed, 4),
        (0x20a, "MPI_LONG", Signed, 8),
        (0x20b, "MPI_LONG_LONG_INT", Signed, 8),
        (0x20c, "MPI_UNSIGNED_SHORT", Unsigned, 2),
        (0x20d, "MPI_UNSIGNED", Unsigned, 4),
        (0x20e, "MPI_UNSIGNED_LONG", Unsigned, 8),
        (0x20f, "MPI_UNSIGNED_LONG_LONG", Unsigned, 8),
        (0x210, "MPI_FLOAT", Float, 4),
        (0x212, "MPI_C_COMPLEX", Complex, 8),
        (0x213, "MPI_CXX_FLOAT_COMPLEX", Complex, 8),
        (0x214, "MPI_DOUBLE", Float, 8),
        (0x216, "MPI_C_DOUBLE_COMPLEX", Complex, 16),
        (0x217, "MPI_CXX_DOUBLE_COMPLEX", Complex, 16),
        (0x218, "MPI_LOGICAL", Logical, 4),
        (0x219, "MPI_INTEGER", Signed, 4),
        (0x21a, "MPI_REAL", Float, 4),
        (0x21b, "MPI_COMPLEX", Complex, 8),
        (0x21c, "MPI_DOUBLE_PRECISION", Float, 8),
        (0x21d, "MPI_DOUBLE_COMPLEX", Complex, 16),
        (0x21e, "MPI_CHARACTER", Character, 1),
        (0x220, "MPI_LONG_DOUBLE", LongDouble, 16),
        (0x224, "MPI_C_LONG_DOUBLE_COMPLEX", LongComplex, 32),
        (0x225, "MPI_CXX_LONG_DOUBLE_COMPLEX", LongComplex, 32),
        (0x238, "MPI_C_BOOL", Logical, 1),
        (0x239, "MPI_CXX_BOOL", Logical, 1),
        (0x23c, "MPI_WCHAR", Character, 4),
        (0x240, "MPI_INT8_T", Signed, 1),
        (0x241, "MPI_UINT8_T", Unsigned, 1),
        (0x243, "MPI_CHAR", Character, 1),
        (0x244, "MPI_SIGNED_CHAR", Signed, 1),
        (0x245, "MPI_UNSIGNED_CHAR", Unsigned, 1),
        (0x247, "MPI_BYTE", Byte, 1),
        (0x248, "MPI_INT16_T", Signed, 2),
        (0x249, "MPI_UINT16_T", Unsigned, 2),
        (0x250, "MPI_INT32_T", Signed, 4),
        (0x251, "MPI_UINT32_T", Unsigned, 4),
        (0x258, "MPI_INT64_T", Signed, 8),
        (0x259, "MPI_UINT64_T", Unsigned, 8),
        (0x2c0, "MPI_LOGICAL1", Logical, 1),
        (0x2c1, "MPI_INTEGER1", Signed, 1),
        (0x2c8, "MPI_LOGICAL2", Logical, 2),
        (0x2c9, "MPI_INTEGER2", Signed, 2),
        (0x2d0, "MPI_LOGICAL4", Logical, 4),
        (0x2d1, "MPI_INTEGER4", Signed, 4),
        (0x2d2, "MPI_REAL4", Float, 4),
        (0x2d9, "MPI_INTEGER8", Signed, 8),
        (0x2da, "MPI_REAL8", Float, 8),
    ]
};

/// Kinds of elements that are not as long in external32, with their bytes there.
const SHORTER_OUTSIDE: [(usize, u8); 3] = [(0x20a, 4), (0x20e, 4), (0x23c, 2)];

/// The kind of a predefined element.
fn basic_of(handle: usize) -> Basic {
    let (_, _, class, size) = BASICS.into_iter().find(|b| b.0 == handle).unwrap_or(BASICS[0]);
    let shorter = SHORTER_OUTSIDE.into_iter().find(|s| s.0 == handle);
    Basic::new(class, size).with_external(shorter.map_or(size, |s| s.1))
}

/// The first predefined datatype of a kind of element.
pub(crate) fn handle_of_basic(basic: Basic) -> Handle {
    let found = BASICS.into_iter().find(|b| basic_of(b.0) == basic);
    found.map_or(Handle::BYTE, |b| Handle(b.0))
}

/// Predefined pairs: handle, name, kind of the value, kind of the index, offset of the index.
const PAIRS: [(usize, &str, usize, usize, isize); 9] = [
    (0x228, "MPI_FLOAT_INT", 0x210, 0x209, 4),
    (0x229, "MPI_DOUBLE_INT", 0x214, 0x209, 8),
    (0x22a, "MPI_LONG_INT", 0x20a, 0x209, 8),
    (0x22b, "MPI_2INT", 0x209, 0x209, 4),
    (0x22c, "MPI_SHORT_INT", 0x208, 0x209, 4),
    (0x22d, "MPI_LONG_DOUBLE_INT", 0x220, 0x209, 16),
    (0x230, "MPI_2REAL", 0x210, 0x210, 4),
    (0x231, "MPI_2DOUBLE_PRECISION", 0x214, 0x214, 8),
    (0x232, "MPI_2INTEGER", 0x209, 0x209, 4),
];

/// `MPI_COMBINER_NAMED`.
const NAMED: i32 = 101;

/// The predefined datatypes, by handle less 0x200.
static PREDEFINED: LazyLock<Vec<Option<Typed>>> = LazyLock::new(|| {
    let mut all = vec![None; 0x100];
    let constructor = || Constructor { combiner: NAMED, ..Constructor::default() };
    let typed = |name: &str, datatype: Datatype| Typed {
        name: name.to_owned(),
        ..Typed::new(Arc::new(datatype.with_constructor(constructor())))
    };
    for (handle, name, ..) in BASICS {
        all[handle - 0x200] = Some(typed(name, Datatype::of(basic_of(handle))));
    }
    for (handle, name, value, index, at) in PAIRS {
        let [value, index] = [value, index].map(|handle| Datatype::of(basic_of(handle)));
        let pair = Datatype::structure([(0, 1, &value), (at, 1, &index)]);
        all[handle - 0x200] = pair.map(|pair| typed(name, pair));
    }
    all
});

/// The predefined pair of a value and an index, which is an `int` in all pairs of C.
pub(crate) fn pair_of(value: Handle, index: Handle) -> Option<Handle> {
    const INT: usize = 0x209;
    let is_it = |p: &&(usize, _, usize, usize, _)| (p.2, p.3) == (value.0, INT) && index.0 == INT;
    PAIRS.iter().find(is_it).map(|p| Handle(p.0))
}

/// The datatype of a handle.
pub(crate) fn datatype(handle: Handle) -> Option<Arc<Datatype>> {
    if handle.0 < Handle::FIRST {
        let index = handle.0.checked_sub(0x200)?;
        return PREDEFINED.get(index)?.as_ref().map(|t| t.datatype.clone());
    }
    TYPES.with(handle, |t| t.datatype.clone())
}

/// Keeps the handle of a datatype from being another one's, while this is kept.
pub(crate) fn hold_datatype(handle: Handle) -> Option<Arc<()>> {
    TYPES.with(handle, |t| t.hold.clone())
}

/// The names that the program has given to predefined datatypes.
static GIVEN_NAMES: Mutex<BTreeMap<Handle, String>> = Mutex::new(BTreeMap::new());

/// Gives a datatype a name.
pub(crate) fn name_datatype(handle: Handle, name: String) {
    if handle.0 < Handle::FIRST {
        GIVEN_NAMES.lock().insert(handle, name);
    } else {
        TYPES.with(handle, |t| t.name = name);
    }
}

/// The name of a datatype.
pub(crate) fn datatype_name(handle: Handle) -> Option<String> {
    if handle.0 < Handle::FIRST {
        if let Some(given) = GIVEN_NAMES.lock().get(&handle) {
            return Some(given.clone());
        }
        let index = handle.0.checked_sub(0x200)?;
        return PREDEFINED.get(index)?.as_ref().map(|t| t.name.clone());
    }
    TYPES.with(handle, |t| t.name.clone())
}
