//! The columns of the table. On a screen without room for all, columns are left out whole: a figure
//! that is cut would be another one.

use super::super::rates::ConnectionRow;
use super::numbers::{rtt, short};
use crate::hosts::names::Names;

/// A column.
#[derive(Copy, Clone)]
pub(super) struct Column {
    pub(super) name: &'static str,
    /// 0: what is left.
    pub(super) width: u16,
    /// It is aligned right.
    pub(super) is_number: bool,
    /// Narrower screens leave it out.
    pub(super) least_width: u16,
    pub(super) of: fn(&ConnectionRow, &Names) -> String,
}

const fn text(name: &'static str, width: u16, of: fn(&ConnectionRow, &Names) -> String) -> Column {
    Column { name, width, is_number: false, least_width: 0, of }
}

const fn number(
    name: &'static str,
    width: u16,
    of: fn(&ConnectionRow, &Names) -> String,
) -> Column {
    Column { name, width, is_number: true, least_width: 0, of }
}

/// A column of screens that have `least_width` columns: on narrower ones it would be cut.
const fn from(least_width: u16, column: Column) -> Column {
    Column { least_width, ..column }
}

/// A screen of this number of columns has room for all.
const WIDE: u16 = 110;

/// A column of wide screens.
const fn wide(column: Column) -> Column {
    Column { least_width: WIDE, ..column }
}

/// A screen of this number of columns has room for what tells why a connection does not move, too.
pub(in super::super) const WIDEST: u16 = 130;

/// A column of the widest screens.
const fn widest(column: Column) -> Column {
    Column { least_width: WIDEST, ..column }
}

/// An end, `65535:65535`, has 11 characters, and the longest state, `CLOSE-WAIT`, has 10. With the
/// spaces between them the columns of narrow screens leave 15 for the process, which is the
/// kernel's bound for the name of a program.
pub(super) const COLUMNS: [Column; 14] = [
    text("Local", 11, |row, names| names.end(row.connection.local_node, row.connection.local_port)),
    text("Peer", 11, |row, names| names.end(row.connection.peer_node, row.connection.peer_port)),
    from(72, text("State", 10, |row, _| row.connection.state.clone())),
    from(30, number("Send/s", 6, |row, _| short(row.send_bits_per_second))),
    from(37, number("Recv/s", 6, |row, _| short(row.receive_bits_per_second))),
    from(
        44,
        number("RTT ms", 6, |row, _| {
            rtt(row.connection.rtt_seconds) + if row.connection.is_rtt_stale { "?" } else { "" }
        }),
    ),
    from(61, number("Again", 5, |row, _| short(row.retransmitted_per_second))),
    wide(number("Recv-Q", 6, |row, _| short(Some(row.connection.receive_queue as f64)))),
    wide(number("Send-Q", 6, |row, _| short(Some(row.connection.send_queue as f64)))),
    wide(number("Window", 6, |row, _| short(Some(row.connection.congestion_window as f64)))),
    wide(text("Underlay", 8, |row, _| row.connection.underlay.clone())),
    widest(number("Silent", 6, |row, _| short(row.connection.silent_seconds))),
    widest(text("Blocked by", 11, |row, _| {
        row.connection.blocked_by.clone().unwrap_or_else(|| "-".into())
    })),
    from(
        55,
        text("Process", 0, |row, _| {
            let silent = if row.is_stale { "?" } else { "" };
            format!("{}({}){silent}", row.program, row.pid)
        }),
    ),
];
