//! What one rank asks another one to do with elements of its window.

use std::sync::Arc;

use crate::datatype::Datatype;
use crate::operation::Operation;

/// Elements of a window, and what is done with them.
#[derive(Clone, Debug)]
pub struct Access {
    /// What the places of the elements are seen from: bytes from the beginning of the window.
    pub at: isize,
    /// How many of the datatype there are.
    pub count: usize,
    /// What they are.
    pub datatype: Arc<Datatype>,
    /// How they are combined with others.
    pub operation: Operation,
}

impl Access {
    /// Bytes of the description where the datatype is elements of one kind, one behind the other.
    const SIMPLE: usize = 57;

    pub(super) fn describe(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(Self::SIMPLE);
        text.extend((self.at as i64).to_le_bytes());
        text.extend((self.count as u64).to_le_bytes());
        text.push(self.operation as u8);
        let begin = text.len() + size_of::<u32>();
        text.extend([0; size_of::<u32>()]);
        self.datatype.describe(&mut text);
        let len = (text.len() - begin) as u32;
        text[begin - size_of::<u32>()..begin].copy_from_slice(&len.to_le_bytes());
        text
    }

    /// Reads a description, and what lies behind it.
    pub(super) fn read<'a>(text: &'a [u8], last: &mut LastDatatype) -> Option<(Self, &'a [u8])> {
        let (at, text) = text.split_first_chunk()?;
        let (count, text) = text.split_first_chunk()?;
        let ([operation], text) = text.split_first_chunk()?;
        let (len, text) = text.split_first_chunk()?;
        let (datatype, rest) = text.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        let access = Self {
            at: isize::try_from(i64::from_le_bytes(*at)).ok()?,
            count: usize::try_from(u64::from_le_bytes(*count)).ok()?,
            datatype: last.read(datatype)?,
            operation: Operation::from_code(usize::from(*operation))?,
        };
        Some((access, rest))
    }
}

/// The last datatype that was described to this rank: most often the next one is the same.
#[derive(Debug, Default)]
pub(super) struct LastDatatype {
    text: Vec<u8>,
    datatype: Option<Arc<Datatype>>,
}

impl LastDatatype {
    /// Returns the datatype that a text describes; `None` if it describes none.
    fn read(&mut self, text: &[u8]) -> Option<Arc<Datatype>> {
        if self.datatype.is_none() || self.text != text {
            self.datatype = Some(Arc::new(Datatype::from_description(text)?));
            self.text.clear();
            self.text.extend_from_slice(text);
        }
        self.datatype.clone()
    }
}
