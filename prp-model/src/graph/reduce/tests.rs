use super::*;

fn graph(text: &str) -> Graph {
    Graph::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-12 * left.abs().max(right.abs())
}

fn message<'a>(reduction: &'a Reduction, name: &str) -> &'a Reduced {
    reduction.messages.iter().find(|message| message.name == name).expect("a message")
}

/// Section 2.3's example, with messages of different sizes.
#[test]
fn reduce__figure_7() {
    let text = include_str!("../../../graphs/figure-7.toml");
    let sizes = text
        .replace("name = \"m2\"", "name = \"m2\"\nsize = 3")
        .replace("name = \"m3\"", "name = \"m3\"\nsize = 2");
    let (a, b, a_c, b_c) = (859.52e-6_f64, 1.42e-6_f64, 345.60e-6, 0.92e-6);
    let m1 = message(&graph(text).reduce(), "m1").total;
    assert!(near(m1.fixed.number(), a + 3.0 * a_c + 2.0 * a), "{m1:?}");
    assert!(near(m1.byte.number(), b.max(3.0 * b_c).max(2.0 * b)), "{m1:?}");
    // x1 = 1, x2 = 3, x3 = 2.
    let m1 = message(&graph(&sizes).reduce(), "m1").total;
    assert!(near(m1.byte.number(), b.max(6.0 * b_c).max(3.0 * b)), "{m1:?}");
    let m3 = message(&graph(&sizes).reduce(), "m3").total;
    assert!(near(m3.byte.number(), b.max(3.0 * b_c).max(1.5 * b)), "{m3:?}");
}

#[test]
fn reduce__figure_1() {
    let reduction = graph(include_str!("../../../graphs/figure-1.toml")).reduce();
    // m1 shares the processor and the adapter of 1 with m1', those of 2 with m2 and m3, the network
    // with all.
    let m1 = message(&reduction, "m1").total;
    let (processor, adapter, network) = (600e-6, 259.52e-6, 345.60e-6);
    assert!(near(m1.fixed.number(), (2.0 + 3.0) * (processor + adapter) + 4.0 * network));
    assert!(near(m1.byte.number(), (3.0 * 1.42e-6_f64).max(4.0 * 0.92e-6)));
    assert!(reduction.order.is_none());
    // Until all are through is until the slowest is.
    assert!(reduction.messages.iter().all(|m| m.total.fixed <= reduction.whole.fixed));
}

#[test]
fn reduce__figure_9() {
    let reduction = graph(include_str!("../../../graphs/figure-9.toml")).reduce();
    let total = message(&reduction, "m").total;
    assert!(near(total.fixed.number(), 2.0 * 859.52e-6 + 345.60e-6 + 50e-6));
    assert!(near(total.byte.number(), 1.42e-6));
    assert_eq!(reduction.whole, total);
}

/// Figure 8, both columns: what calls wait for decides how long messages go on, not how small ones
/// begin.
#[test]
fn reduce__sending_and_receiving_time() {
    let text = include_str!("../../../graphs/figure-9.toml").replace("b = 0.92e-6", "b = 5e-6");
    let workstation = (859.52e-6, 1.42e-6);
    let of = |block: Block| (block.fixed.number(), block.byte.number());
    let waits = graph(&text).reduce().messages.remove(0);
    assert_eq!(of(waits.sending), (workstation.0, 5e-6));
    assert_eq!(of(waits.receiving.0), workstation);
    assert_eq!(of(waits.receiving.1), (workstation.0, 5e-6));
    let goes_on = graph(&format!("primitive = \"preemptive\"\n{text}")).reduce().messages.remove(0);
    assert_eq!(of(goes_on.sending), workstation);
    assert_eq!((of(goes_on.receiving.0), of(goes_on.receiving.1)), (workstation, workstation));
    assert_eq!(goes_on.total, waits.total);
}

/// Blocks on one processor add up, others do not, however they are mixed (section 2.1's
/// workstation).
#[test]
fn reduce__dependent_and_independent_blocks_on_one_path() {
    let block = |name: &str, a: f64, b: f64, processor: &str| {
        format!("[[block]]\nname = {name:?}\na = {a:?}\nb = {b:?}\n{processor}\n")
    };
    let one = "processor = \"main\"";
    let text = block("application", 1.0, 0.2, one)
        + &block("adapter", 4.0, 0.4, "")
        + &block("system", 2.0, 0.3, one)
        + "[[message]]\nname = \"m\"\nfrom = \"1\"\nto = \"2\"\n";
    let total = |via: &str| graph(&format!("{text}via = {via}\n")).reduce().messages[0].total;
    let serial = total(r#"["application", "system", "adapter"]"#);
    assert!(near(serial.fixed.number(), 7.0) && near(serial.byte.number(), 0.5));
    // What sends is the first one's processor, with all that it does.
    let via = r#"["application", "adapter", "system"]"#;
    let reduced = graph(&format!("{text}via = {via}\n")).reduce().messages.remove(0);
    assert!(near(reduced.sending.fixed.number(), 3.0), "{:?}", reduced.sending);
    // Not next to each other either.
    assert_eq!(total(r#"["application", "adapter", "system"]"#), serial);
    // Either the adapter or, on the main processor, one of the others.
    let parallel = total(r#"[["application", "adapter", "system"]]"#);
    let byte = 1.0 / (1.0 / 0.2 + 1.0 / 0.4);
    assert!(near(parallel.fixed.number(), 1.0) && near(parallel.byte.number(), byte));
    // A row of two as an alternative to the adapter.
    let nested = total(r#"[[["application", "system"], "adapter"]]"#);
    let byte = 1.0 / (1.0 / 0.5 + 1.0 / 0.4);
    assert!(near(nested.fixed.number(), 3.0) && near(nested.byte.number(), byte));
}
