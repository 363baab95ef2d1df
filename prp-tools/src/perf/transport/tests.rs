use super::*;

#[test]
fn versus__from_text() {
    let tcp = Versus { transport: Transport::Tcp, addr: None };
    assert_eq!("tcp".parse(), Ok(tcp));
    let addr = Some(IpAddr::from([10, 0, 0, 2]));
    assert_eq!("tcp=10.0.0.2".parse(), Ok(Versus { addr, ..tcp }));
    for text in ["", "tcp=", "tcp=node2", "prp", "TCP", "tcp=10.0.0.2:80"] {
        assert!(text.parse::<Versus>().is_err(), "{text}");
    }
}

#[test]
fn name__is_what_json_has() {
    for transport in [Transport::Prp, Transport::Tcp] {
        let json = serde_json::to_string(&transport).expect("a string");
        assert_eq!(json, format!("\"{transport}\""));
    }
    for wait in [WaitMode::Block, WaitMode::Spin, WaitMode::Adaptive] {
        assert_eq!(serde_json::to_string(&wait).expect("a string"), format!("\"{wait}\""));
    }
}
