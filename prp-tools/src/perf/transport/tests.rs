use super::*;

#[test]
fn versus__from_text() {
    let tcp = Versus { transport: Transport::Tcp, addr: None };
    assert_eq!("tcp".parse(), Ok(tcp));
    let addr = Some(IpAddr::from([10, 0, 0, 2]));
    assert_eq!("tcp=10.0.0.2".parse(), Ok(Versus { addr, ..tcp }));
    let same_frames = Versus { transport: Transport::TcpNoOffload, addr: None };
    assert_eq!("tcp-no-offload".parse(), Ok(same_frames));
    let same_segments = Versus { transport: Transport::TcpNoSegmentation, addr: None };
    assert_eq!("tcp-no-segmentation".parse(), Ok(same_segments));
    assert_eq!("raw".parse(), Ok(Versus { transport: Transport::Raw, addr: None }));
    for text in ["", "raw=10.0.0.2", "tcp=", "tcp=node2", "prp", "TCP", "tcp=10.0.0.2:80"] {
        assert!(text.parse::<Versus>().is_err(), "{text}");
    }
}

#[test]
fn name__is_what_json_has() {
    let tcp = [Transport::Tcp, Transport::TcpNoOffload, Transport::TcpNoSegmentation];
    for transport in [Transport::Prp, Transport::Raw].into_iter().chain(tcp) {
        let json = serde_json::to_string(&transport).expect("a string");
        assert_eq!(json, format!("\"{transport}\""));
    }
    for wait in [WaitMode::Block, WaitMode::Spin, WaitMode::Adaptive] {
        assert_eq!(serde_json::to_string(&wait).expect("a string"), format!("\"{wait}\""));
    }
}
