use serde_test::{Configure, Token, assert_de_tokens_error, assert_tokens};

use super::*;

fn addr() -> PrpAddr {
    PrpAddr::new(NodeId::new(3).unwrap(), Port::new(80))
}

#[test]
fn addr__is_text_where_people_read_it_and_numbers_elsewhere() {
    assert_tokens(&addr().readable(), &[Token::Str("3:80")]);
    let numbers = [Token::Tuple { len: 2 }, Token::U16(3), Token::U16(80), Token::TupleEnd];
    assert_tokens(&addr().compact(), &numbers);
}

#[test]
fn node_and_port__are_numbers() {
    assert_tokens(&addr().node, &[Token::U16(3)]);
    assert_tokens(&addr().port, &[Token::U16(80)]);
}

#[test]
fn deserialize__refuses_what_is_no_address() {
    let node = "expected a node number from 1 to 65534";
    assert_de_tokens_error::<NodeId>(&[Token::U16(0)], node);
    let shape = "expected node:port, such as 3:80";
    assert_de_tokens_error::<serde_test::Readable<PrpAddr>>(&[Token::Str("3")], shape);
    let numbers = [Token::Tuple { len: 2 }, Token::U16(65535), Token::U16(80), Token::TupleEnd];
    assert_de_tokens_error::<serde_test::Compact<PrpAddr>>(&numbers, node);
}
