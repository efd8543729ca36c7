use super::*;
use crate::Wire;

#[derive(Wire, Clone, Copy, Debug, PartialEq)]
#[repr(u16)]
enum Colour {
    #[value("RED")]
    Red = 1,
    #[value("BLUE")]
    Blue = 700,
}

crate::flags! {
    struct Marks(u8) as "marks" Flags {
        A = 1 => "MARK_A",
        B = 128 => "MARK_B",
    }
}

#[derive(Wire, Clone, Debug, PartialEq)]
struct Everything {
    byte: u8,
    number: i64,
    ratio: f64,
    is_so: bool,
    colour: Colour,
    marks: Marks,
    name: Text<4>,
    pair: [u16; 2],
    #[count(u8, "n_colours")]
    colours: Vec<Colour>,
    between: u8,
    #[count(u16, "n_more", between)]
    more: Vec<u8>,
    rest: String,
}

fn everything() -> Everything {
    Everything {
        byte: 1,
        number: -2,
        ratio: 0.5,
        is_so: true,
        colour: Colour::Blue,
        marks: Marks::A | Marks::B,
        name: "abc".into(),
        pair: [3, 4],
        colours: vec![Colour::Red, Colour::Blue],
        between: 9,
        more: vec![5, 6],
        rest: "the rest".into(),
    }
}

fn bytes() -> Vec<u8> {
    let mut out = vec![];
    everything().put(&mut out);
    out
}

#[test]
fn fields_lie_one_after_the_other_in_network_order_but_for_floats() {
    let mut expected = vec![1];
    expected.extend([0xff; 7]);
    expected.push(0xfe);
    expected.extend(0.5f64.to_le_bytes());
    expected.extend([1, 2, 188, 129, b'a', b'b', b'c', 0, 0, 3, 0, 4, 2, 0, 1, 2, 188, 0, 2, 9, 5, 6, 0, 0, 0, 8]);
    expected.extend(b"the rest");
    assert_eq!(bytes(), expected);
    let taken = Everything::take(&mut Input::new(&expected)).expect("it is whole");
    assert_eq!(taken, everything());
    assert!(taken.marks.has(Marks::B) && !Marks::A.has(Marks::B));
}

#[test]
fn what_ends_too_early_is_refused_wherever_it_ends() {
    let all = bytes();
    for length in 0..all.len() {
        let error = Everything::take(&mut Input::new(&all[..length])).expect_err("it is not whole");
        assert!(error.what.contains("ends in the middle"), "{length}: {error}");
    }
}

#[test]
fn values_that_mean_nothing_are_told_with_their_place() {
    let mut all = bytes();
    let place = all.len() - 4 - "the rest".len() - 5 - 1;
    all[place] = 0;
    let error = Everything::take(&mut Input::new(&all)).expect_err("512 is no colour");
    assert_eq!(error.to_string(), "[1]: 512 is no colour");
}

#[test]
fn a_text_that_is_too_long_is_cut_between_letters() {
    let mut out = vec![];
    Text::<4>("aäö".into()).put(&mut out);
    assert_eq!(out, [b'a', 0xc3, 0xa4, 0]);
}

#[test]
fn a_list_that_claims_to_be_huge_takes_no_memory() {
    let claim = [0xff, 0xff, 0xff, 0xff, 1, 2];
    let mut input = Input::new(&claim);
    let count = derived::take_count::<u32>(&mut input).expect("it is there");
    assert!(derived::take_list::<u16>(&mut input, count).is_err());
}
