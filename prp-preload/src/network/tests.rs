use super::*;

fn network() -> Network {
    Network::parse("10.99.0.0/24").unwrap()
}

#[test]
fn parse__needs_a_network_whose_hosts_are_node_numbers() {
    for text in ["", "10.99.0.0", "10.99.0.1/24", "10.99.0.0/15", "10.99.0.0/31", "beta/24"] {
        assert_eq!(Network::parse(text), None, "{text:?}");
    }
}

#[test]
fn node__is_the_host_and_the_port_stays() {
    let address = "10.99.0.2:7000".parse().unwrap();
    let node = network().node(address).unwrap();
    assert_eq!(node, "2:7000".parse().unwrap());
    assert_eq!(network().address(node), Some(address));
}

#[test]
fn node__is_none_outside_the_network_and_at_number_0() {
    for address in ["127.0.0.1:7000", "10.99.1.2:7000", "10.99.0.0:7000"] {
        assert_eq!(network().node(address.parse().unwrap()), None, "{address}");
    }
}

#[test]
fn address__a_node_beyond_the_network_has_none() {
    assert_eq!(network().address("256:1".parse().unwrap()), None);
}
