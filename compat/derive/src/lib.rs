//! `derive(Wire)` and `derive(Message)`: coding and description of VPP's API messages and their types, from the fields
//! of structs and the variants of enums. The traits in `quiver-compat` document their meaning.
#![forbid(unsafe_code)]

mod message;
mod wire;

use proc_macro::TokenStream;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Lit, Meta, parse_macro_input};

/// Makes a struct, or an enum with a `repr`, a type of fields of messages.
///
/// `#[wire(name = "...")]` gives it another name than that of the type in snake case. A `Vec` has `#[count(u8, "n")]`: type
/// and name of the field before it that counts its elements, or `#[count(u8, "n", other)]` where that stands before an earlier
/// field; a variant has `#[value("NAME")]`, its name in VPP.
#[proc_macro_derive(Wire, attributes(wire, count, value))]
pub fn derive_wire(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    wire::derive(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a message. `#[message(...)]` says what kind: `request`, `dump`, `stream`, `reply`, `details`, `addressed`
/// (details that name the client, as few of VPP's do), `event` or `bare`, and what belongs to it: `reply = Type`,
/// `details = Type`, `events(Type, ...)`, `name = "..."`. A field with `#[default(10)]` has this value where a client's caller
/// leaves it out; one with `#[secret]` is left out of traces.
#[proc_macro_derive(Message, attributes(message, count, default, secret))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    message::derive(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The fields of a struct: those with names, or none.
fn struct_fields(input: &DeriveInput) -> Result<Vec<&Field>, Error> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter().collect()),
            Fields::Unit => Ok(vec![]),
            Fields::Unnamed(_) => Err(Error::new_spanned(&input.ident, "the fields of messages have names")),
        },
        _ => Err(Error::new_spanned(&input.ident, "this must be a struct")),
    }
}

/// The doc comment, its lines joined by blanks; empty where there is none.
fn doc(attributes: &[Attribute]) -> String {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    };
    attributes.iter().filter_map(line).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// `SwInterfaceTapV2Dump` is `sw_interface_tap_v2_dump`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
