use super::*;

#[test]
fn check_vlan__takes_no_device_in_another_vlan_than_prphosts_says() {
    let text = "1 02:00:00:00:00:01 eth0 vlan=7 alpha\n2 02:00:00:00:00:02 eth1 beta\n";
    let hosts = Hosts::parse(text.as_bytes()).expect("it is right");
    for fine in ["eth0:vlan7", "eth1", "other"] {
        check_vlan(&hosts, fine).unwrap_or_else(|e| panic!("{fine}: {e}"));
    }
    for wrong in ["eth0", "eth0:vlan9", "eth1:vlan7", "other:vlan7"] {
        let error = check_vlan(&hosts, wrong).expect_err(wrong);
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{wrong}: {error}");
    }
}
