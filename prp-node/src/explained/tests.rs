use super::*;

#[test]
fn display__has_what_is_known_of_the_place() {
    let cause = || Explanation { cause: "c; d".into(), ..Explanation::default() };
    assert_eq!(cause().to_string(), "c; d");
    let of_file = Explanation { file: Some("/a; b".into()), fix: Some("f".into()), ..cause() };
    assert_eq!(of_file.to_string(), "/a; b: c; d; f");
    let at_place = Explanation { line: Some(3), column: Some(7), ..of_file };
    assert_eq!(at_place.to_string(), "/a; b:3:7: c; d; f");
}

#[test]
fn within__only_where_there_are_fields() {
    let explanation = Explanation { cause: "c".into(), ..Explanation::default() };
    let error = explanation.clone().into_error(io::ErrorKind::NotFound);
    assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::NotFound, "c".to_owned()));
    assert_eq!(ExplainedError::within(&error), [explanation]);
    for plain in [io::Error::other("a; b"), io::Error::from_raw_os_error(2)] {
        assert!(ExplainedError::within(&plain).is_empty());
    }
}
