//! Which variables belong together.

use std::ffi::{c_char, c_int};
use std::ops::Range;

use super::{Told, at, control, performance, put_index, put_string};
use crate::sys::pointer::Ptr;

struct Category {
    name: &'static str,
    about: &'static str,
    /// Numbers of control variables, and of performance variables.
    control: Range<usize>,
    performance: Range<usize>,
}

/// All categories, none of which is within another one.
const ALL: [Category; 4] = {
    let [queues, objects, bytes] = performance::PARTS;
    [
        Category {
            name: "prp_mpi_settings",
            about: "What the environment sets, and limits.",
            control: 0..control::COUNT,
            performance: 0..0,
        },
        Category {
            name: "prp_mpi_queues",
            about: "What waits.",
            control: 0..0,
            performance: queues,
        },
        Category {
            name: "prp_mpi_objects",
            about: "What the program has made.",
            control: 0..0,
            performance: objects,
        },
        Category {
            name: "prp_mpi_bytes",
            about: "How the bytes of messages have come to where they are to be.",
            control: 0..0,
            performance: bytes,
        },
    ]
};

pub(crate) fn t_category_get_num(count: Ptr<c_int>) -> Told {
    count.put(ALL.len() as c_int);
    Ok(())
}

pub(crate) fn t_category_get_index(name: Ptr<c_char>, index: Ptr<c_int>) -> Told {
    let name = name.text();
    put_index(&ALL, index, |category| category.name == name)
}

pub(crate) fn t_category_get_info(
    index: c_int,
    name: Ptr<c_char>,
    name_len: Ptr<c_int>,
    about: Ptr<c_char>,
    about_len: Ptr<c_int>,
    control: Ptr<c_int>,
    performance: Ptr<c_int>,
    categories: Ptr<c_int>,
) -> Told {
    let category = at(&ALL, index)?;
    put_string(category.name, name, name_len);
    put_string(category.about, about, about_len);
    control.put(category.control.len() as c_int);
    performance.put(category.performance.len() as c_int);
    categories.put(0);
    Ok(())
}

/// Writes the first of some numbers, as many as there is room for.
fn put_numbers(numbers: &Range<usize>, room: c_int, to: Ptr<c_int>) {
    for (place, number) in numbers.clone().take(room.max(0) as usize).enumerate() {
        to.set(place, number as c_int);
    }
}

pub(crate) fn t_category_get_cvars(index: c_int, room: c_int, to: Ptr<c_int>) -> Told {
    put_numbers(&at(&ALL, index)?.control, room, to);
    Ok(())
}

pub(crate) fn t_category_get_pvars(index: c_int, room: c_int, to: Ptr<c_int>) -> Told {
    put_numbers(&at(&ALL, index)?.performance, room, to);
    Ok(())
}

pub(crate) fn t_category_get_categories(index: c_int, _room: c_int, _to: Ptr<c_int>) -> Told {
    at(&ALL, index).map(drop)
}

pub(crate) fn t_category_get_events(index: c_int, _room: c_int, _to: Ptr<c_int>) -> Told {
    at(&ALL, index).map(drop)
}

pub(crate) fn t_category_get_num_events(index: c_int, count: Ptr<c_int>) -> Told {
    at(&ALL, index)?;
    count.put(0);
    Ok(())
}

/// They never change.
pub(crate) fn t_category_changed(update: Ptr<c_int>) -> Told {
    update.put(0);
    Ok(())
}
