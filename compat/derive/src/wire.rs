//! `derive(Wire)`, and the fields of structs, which both derives share.

use proc_macro2::{Span, TokenStream as Tokens};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput, Error, Field, Ident, LitStr, Token, Type};

use crate::{snake_case, struct_fields};

pub fn derive(input: &DeriveInput) -> Result<Tokens, Error> {
    let name = name(input)?;
    match &input.data {
        Data::Enum(data) => of_enum(input, data, &name),
        _ => of_struct(input, &name),
    }
}

/// The name in VPP: as the attribute says, or that of the type.
fn name(input: &DeriveInput) -> Result<String, Error> {
    let mut name = snake_case(&input.ident.to_string());
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("wire")) {
        attribute.parse_nested_meta(|meta| match meta.path.is_ident("name") {
            true => meta.value()?.parse::<LitStr>().map(|text| name = text.value()),
            false => Err(meta.error("expected name = \"...\"")),
        })?;
    }
    Ok(name)
}

/// Code that describes, writes and reads the fields of a struct.
pub struct FieldTokens {
    /// Expressions of `Vec<Field>`.
    pub described: Vec<Tokens>,
    /// Statements that write to `out`.
    pub written: Vec<Tokens>,
    /// Statements that read from `input` into variables of the fields' names.
    pub read: Vec<Tokens>,
    /// The fields' names.
    pub idents: Vec<Ident>,
}

pub fn field_tokens(input: &DeriveInput) -> Result<FieldTokens, Error> {
    let mut tokens = FieldTokens { described: vec![], written: vec![], read: vec![], idents: vec![] };
    let fields: Vec<&Field> = struct_fields(input)?.into_iter().collect();
    let mut early = vec![];
    for field in &fields {
        if let (Some(list), Some(Counted { counter, count, before: Some(before) })) = (&field.ident, counted(field)?) {
            early.push((before, list.clone(), counter, count));
        }
    }
    for field in fields {
        let Some(ident) = field.ident.clone() else { continue };
        for (_, list, counter, count) in early.iter().filter(|(before, ..)| *before == ident) {
            let variable = format_ident!("count_of_{list}");
            tokens.described.push(quote!(::std::vec![<#counter as derived::Wire>::field(#count)]));
            tokens.written.push(quote!(derived::put_count::<_, #counter>(&self.#list, out);));
            tokens.read.push(quote!(let #variable = derived::take_count::<#counter>(input)?;));
        }
        let name = ident.to_string().trim_start_matches("r#").to_owned();
        // Errors of a field's type point at the field.
        let (ty, span) = (&field.ty, field.ty.span());
        match counted(field)? {
            Some(Counted { counter, count, before }) => {
                let variable = format_ident!("count_of_{ident}");
                match before {
                    Some(_) => {
                        tokens.described.push(quote_spanned!(span=> ::std::vec![derived::list::<#ty>(#name, #count)]));
                    }
                    None => {
                        let described = quote_spanned!(span=> derived::counted::<#ty, #counter>(#name, #count));
                        tokens.described.push(described);
                        tokens.written.push(quote!(derived::put_count::<_, #counter>(&self.#ident, out);));
                        tokens.read.push(quote!(let #variable = derived::take_count::<#counter>(input)?;));
                    }
                }
                tokens.written.push(quote_spanned!(span=> derived::put_list::<_, #counter>(&self.#ident, out);));
                tokens.read.push(quote_spanned!(span=> let #ident = derived::take_list(input, #variable)?;));
            }
            None => {
                tokens.described.push(quote_spanned!(span=> ::std::vec![<#ty as derived::Wire>::field(#name)]));
                tokens.written.push(quote_spanned!(span=> derived::Wire::put(&self.#ident, out);));
                let read = quote!(<#ty as derived::Wire>::take(input).map_err(|error| error.of(#name))?);
                tokens.read.push(quote_spanned!(span=> let #ident = #read;));
            }
        }
        tokens.idents.push(ident);
    }
    Ok(tokens)
}

/// Content of `#[count(type, "name")]` or `#[count(type, "name", field)]`.
struct Counted {
    counter: Type,
    count: LitStr,
    /// The field before which the count stands, if not the list itself.
    before: Option<Ident>,
}

fn counted(field: &Field) -> Result<Option<Counted>, Error> {
    let Some(attribute) = field.attrs.iter().find(|attribute| attribute.path().is_ident("count")) else {
        return Ok(None);
    };
    let parsed = |input: syn::parse::ParseStream<'_>| {
        let counter: Type = input.parse()?;
        input.parse::<Token![,]>()?;
        let count = input.parse()?;
        let before = input.parse::<Option<Token![,]>>()?.map(|_| input.parse()).transpose()?;
        Ok(Counted { counter, count, before })
    };
    attribute.parse_args_with(parsed).map(Some)
}

fn of_struct(input: &DeriveInput, name: &str) -> Result<Tokens, Error> {
    let (ident, FieldTokens { described, written, read, idents }) = (&input.ident, field_tokens(input)?);
    Ok(quote! {
        const _: () = {
            use ::quiver_compat::wire::derived;
            impl derived::Wire for #ident {
                fn of() -> derived::Type {
                    let fields: ::std::vec::Vec<::std::vec::Vec<derived::Field>> = ::std::vec![#(#described),*];
                    let fields = fields.into_iter().flatten().collect();
                    derived::Type::named(#name, derived::Kind::Struct(fields))
                }
                fn put(&self, out: &mut ::std::vec::Vec<u8>) {
                    #(#written)*
                }
                fn take(input: &mut derived::Input<'_>) -> ::core::result::Result<Self, derived::Malformed> {
                    #(#read)*
                    ::core::result::Result::Ok(Self { #(#idents),* })
                }
            }
        };
    })
}

fn of_enum(input: &DeriveInput, data: &DataEnum, name: &str) -> Result<Tokens, Error> {
    let ident = &input.ident;
    let repr = repr(input)?;
    let base = repr.to_string();
    let (mut variants, mut values, mut names) = (vec![], vec![], vec![]);
    for variant in &data.variants {
        let Some((_, value)) = &variant.discriminant else {
            return Err(Error::new_spanned(variant, "a variant says its value: Name = 0"));
        };
        let Some(attribute) = variant.attrs.iter().find(|attribute| attribute.path().is_ident("value")) else {
            return Err(Error::new_spanned(variant, "#[value(\"NAME\")] is missing: the variant's name in VPP"));
        };
        names.push(attribute.parse_args::<LitStr>()?);
        values.push(value);
        variants.push(&variant.ident);
    }
    Ok(quote! {
        const _: () = {
            use ::quiver_compat::wire::derived;
            impl derived::Wire for #ident {
                fn of() -> derived::Type {
                    let values = ::std::vec![#((#names, (#values) as i64)),*];
                    derived::Type::named(#name, derived::Kind::Enum { base: #base, values })
                }
                fn put(&self, out: &mut ::std::vec::Vec<u8>) {
                    let value = match self {
                        #(Self::#variants => #values),*
                    };
                    derived::Wire::put(&(value as #repr), out);
                }
                fn take(input: &mut derived::Input<'_>) -> ::core::result::Result<Self, derived::Malformed> {
                    let value = <#repr as derived::Wire>::take(input)?;
                    #(if value == #values {
                        return ::core::result::Result::Ok(Self::#variants);
                    })*
                    ::core::result::Result::Err(derived::Malformed::value(value as i64, #name))
                }
            }
        };
    })
}

/// The integer that an enum is on the wire.
fn repr(input: &DeriveInput) -> Result<Ident, Error> {
    let Some(attribute) = input.attrs.iter().find(|attribute| attribute.path().is_ident("repr")) else {
        return Err(Error::new(Span::call_site(), "#[repr(u8)] or another integer is missing: its size on the wire"));
    };
    attribute.parse_args()
}
