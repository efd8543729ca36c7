//! An address of an interface with the length of its link's prefix, of one family: `ip4_address_with_prefix` and
//! `ip6_address_with_prefix`.

use std::net::{Ipv4Addr, Ipv6Addr};

use quiver_wire::{InterfaceAddress, IpFamily, V4, V6};

use super::alias;
use crate::Wire;
use crate::definition::{Field, Kind, Shape, Type};
use crate::wire::{Input, Malformed};

impl Wire for InterfaceAddress<V4> {
    fn of() -> Type {
        described("ip4", Ipv4Addr::of())
    }
    fn put(&self, out: &mut Vec<u8>) {
        put(self, out);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        take(input)
    }
}

impl Wire for InterfaceAddress<V6> {
    fn of() -> Type {
        described("ip6", Ipv6Addr::of())
    }
    fn put(&self, out: &mut Vec<u8>) {
        put(self, out);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, Malformed> {
        take(input)
    }
}

fn described(family: &str, address: Type) -> Type {
    let field = |name: &str, of| Field { name: name.into(), of, shape: Shape::One };
    let fields = vec![field("address", address), field("len", u8::of())];
    alias(&format!("{family}_address_with_prefix"), Type::named(&format!("{family}_prefix"), Kind::Struct(fields)), 0)
}

fn put<F: IpFamily<Address: Wire>>(address: &InterfaceAddress<F>, out: &mut Vec<u8>) {
    address.address().put(out);
    address.length().put(out);
}

fn take<F: IpFamily<Address: Wire>>(input: &mut Input<'_>) -> Result<InterfaceAddress<F>, Malformed> {
    let (address, length) = (Wire::take(input)?, u8::take(input)?);
    InterfaceAddress::new(address, length).map_err(|_| Malformed::value(length.into(), "length of a prefix").of("len"))
}
