use roxmltree::{Document, Node};

use super::COLUMN;
use crate::graph::{Graph, NOTHING, Parts, PatternKind};

const FIGURE_7: &str = include_str!("../../../graphs/figure-7.toml");

fn texts(document: &Document<'_>) -> Vec<String> {
    let is_text = |node: &Node<'_, '_>| node.has_tag_name("text");
    let text = |node: Node<'_, '_>| node.text().unwrap_or_default().to_owned();
    document.descendants().filter(is_text).map(text).collect()
}

fn count(document: &Document<'_>, tag: &str) -> usize {
    document.descendants().filter(|node| node.has_tag_name(tag)).count()
}

#[test]
fn graph__has_every_process_block_and_message() {
    let graph = Graph::parse(FIGURE_7).expect("the sample");
    let svg = graph.svg();
    let document = Document::parse(&svg).expect("XML");
    let texts = texts(&document);
    for name in ["1", "2", "3", "4", "5", "CB1", "CBc", "CB4", "m1", "m2", "m3"] {
        assert!(texts.iter().any(|text| text == name), "{name} in {texts:?}");
    }
    // Five processes, six blocks and the paper they are drawn on.
    assert_eq!((count(&document, "circle"), count(&document, "rect")), (5, 7));
}

/// Figure 1: processors 2 and 3 send and receive. No arrow goes back, or through a
/// block.
#[test]
fn graph__arrows_go_from_one_column_to_the_next() {
    let text = include_str!("../../../graphs/figure-1.toml");
    let svg = Graph::parse(text).expect("the sample").svg();
    let document = Document::parse(&svg).expect("XML");
    let number = |node: &Node<'_, '_>, name: &str| -> f64 {
        node.attribute(name).and_then(|text| text.parse().ok()).expect("a number")
    };
    let lines: Vec<_> = document.descendants().filter(|node| node.has_tag_name("line")).collect();
    assert!(lines.len() >= 10);
    for line in lines {
        let width = number(&line, "x2") - number(&line, "x1");
        assert!(width > 0.0 && width < COLUMN, "{line:?}");
    }
}

#[test]
fn graph__names_are_escaped() {
    let text = r#"
        [[block]]
        name = "<&>"
        a = 1
        b = 1
        [[message]]
        name = "m"
        from = "\""
        to = "2"
        via = ["<&>"]
    "#;
    let svg = Graph::parse(text).expect("a graph").svg();
    let document = Document::parse(&svg).expect("XML");
    assert!(texts(&document).contains(&"<&>".to_owned()), "{svg}");
}

/// Figure 10(b): ten messages, each sent once and received once.
#[test]
fn timeline__has_a_bar_for_each_end_of_a_message() {
    let block = |a, b| crate::graph::Block {
        fixed: crate::unit::Seconds::new(a),
        byte: crate::unit::SecondsPerByte::new(b),
    };
    let parts = Parts { workstation: block(1.0, 0.0), network: block(0.5, 0.0), delay: NOTHING };
    let order = parts.graph(PatternKind::TreeBroadcast, 11, true).reduce().order.expect("an order");
    let svg = order.timeline.svg();
    let document = Document::parse(&svg).expect("XML");
    let filled = document
        .descendants()
        .filter(|node| node.has_tag_name("rect") && node.attribute("fill") == Some("#9db8d2"));
    assert_eq!((filled.count(), count(&document, "rect")), (10, 21));
}
