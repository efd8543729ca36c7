//! `derive(Message)`.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{DeriveInput, Error, Ident, Lit, LitStr, Token, Type, parenthesized};

use crate::wire::{FieldTokens, field_tokens};
use crate::{doc, snake_case, struct_fields};

/// Content of `#[message(...)]`.
struct Attribute {
    role: Ident,
    name: String,
    reply: Option<Type>,
    details: Option<Type>,
    events: Vec<Type>,
}

fn attribute(input: &DeriveInput) -> Result<Attribute, Error> {
    let mut role = None;
    let (mut name, mut reply, mut details, mut events) = (snake_case(&input.ident.to_string()), None, None, vec![]);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("message")) {
        attribute.parse_nested_meta(|meta| {
            match meta.path.require_ident()?.to_string().as_str() {
                "name" => name = meta.value()?.parse::<LitStr>()?.value(),
                "reply" if meta.input.peek(Token![=]) => reply = Some(meta.value()?.parse()?),
                "details" if meta.input.peek(Token![=]) => details = Some(meta.value()?.parse()?),
                "events" => {
                    let inside;
                    parenthesized!(inside in meta.input);
                    events.extend(Punctuated::<Type, Token![,]>::parse_terminated(&inside)?);
                }
                "request" | "dump" | "stream" | "reply" | "details" | "addressed" | "event" | "told" | "bare"
                    if role.is_none() =>
                {
                    role = Some(meta.path.require_ident()?.clone());
                }
                _ => {
                    return Err(meta.error(
                        "expected one of request, dump, stream, reply, details, addressed, event, told and bare; then \
                        reply = Type, details = Type, events(Type, ...), name = \"...\"",
                    ));
                }
            }
            Ok(())
        })?;
    }
    let role =
        role.ok_or_else(|| Error::new_spanned(&input.ident, "#[message(...)] is missing: say what kind it is"))?;
    Ok(Attribute { role, name, reply, details, events })
}

/// The fields with `#[default(...)]` and their defaults, as pairs of texts.
fn defaults(input: &DeriveInput) -> Result<Vec<Tokens>, Error> {
    let mut found = vec![];
    for field in struct_fields(input)? {
        let attribute = field.attrs.iter().find(|attribute| attribute.path().is_ident("default"));
        let (Some(attribute), Some(ident)) = (attribute, &field.ident) else { continue };
        let value = match attribute.parse_args::<Lit>()? {
            Lit::Int(number) => number.base10_digits().to_owned(),
            Lit::Float(number) => number.base10_digits().to_owned(),
            Lit::Bool(word) => word.value.to_string(),
            other => return Err(Error::new_spanned(other, "expected a number, true or false")),
        };
        let name = ident.to_string();
        found.push(quote!((#name, #value)));
    }
    Ok(found)
}

/// The names of the fields with `#[secret]`.
fn secrets(input: &DeriveInput) -> Result<Vec<String>, Error> {
    let fields = struct_fields(input)?.into_iter();
    let fields = fields.filter(|field| field.attrs.iter().any(|attribute| attribute.path().is_ident("secret")));
    Ok(fields.filter_map(|field| field.ident.as_ref().map(ToString::to_string)).collect())
}

pub fn derive(input: &DeriveInput) -> Result<Tokens, Error> {
    let Attribute { role, name, reply, details, events } = attribute(input)?;
    let (ident, text) = (&input.ident, doc(&input.attrs));
    if text.is_empty() {
        return Err(Error::new_spanned(ident, "a doc comment is missing: it is the message's documentation"));
    }
    let (defaults, secrets) = (defaults(input)?, secrets(input)?);
    let FieldTokens { described, written, read, idents } = field_tokens(input)?;
    let missing = |what| Error::new_spanned(ident, format!("{what} = Type is missing"));
    let header = match role.to_string().as_str() {
        "request" | "dump" | "stream" | "addressed" => quote!(Request),
        "reply" => quote!(Reply),
        "details" => quote!(Details),
        "event" => quote!(Event),
        "told" => quote!(Told),
        _ => quote!(Bare),
    };
    let service = match role.to_string().as_str() {
        "request" => {
            let reply = reply.map_or_else(|| quote!(derived::Done<#ident>), |reply| quote!(#reply));
            quote! {
                impl derived::Request for #ident {
                    type Reply = #reply;
                    fn events() -> ::std::vec::Vec<derived::Definition> {
                        ::std::vec![#(<#events as derived::Message>::definition()),*]
                    }
                }
            }
        }
        "dump" => {
            let details = details.ok_or_else(|| missing("details"))?;
            quote!(impl derived::Dump for #ident { type Details = #details; })
        }
        "stream" => {
            let (details, reply) = (details.ok_or_else(|| missing("details"))?, reply.ok_or_else(|| missing("reply"))?);
            quote! {
                impl derived::Stream for #ident {
                    type Details = #details;
                    type Reply = #reply;
                }
            }
        }
        _ => quote!(),
    };
    Ok(quote! {
        const _: () = {
            use ::quiver_compat::message::derived;
            impl derived::Message for #ident {
                const HEADER: derived::Header = derived::Header::#header;
                fn name() -> ::std::string::String {
                    ::std::string::String::from(#name)
                }
                fn definition() -> derived::Definition {
                    let fields: ::std::vec::Vec<::std::vec::Vec<derived::Field>> = ::std::vec![#(#described),*];
                    let fields = fields.into_iter().flatten().collect();
                    derived::Definition::new(#name, derived::Header::#header, fields, #text)
                        .with_defaults(&[#(#defaults),*])
                        .with_secrets(&[#(#secrets),*])
                }
                fn put(&self, out: &mut ::std::vec::Vec<u8>) {
                    #(#written)*
                }
                fn take(input: &mut derived::Input<'_>) -> ::core::result::Result<Self, derived::Malformed> {
                    #(#read)*
                    ::core::result::Result::Ok(Self { #(#idents),* })
                }
            }
            #service
        };
    })
}
