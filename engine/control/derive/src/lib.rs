//! `derive(Record)` and `derive(Object)`: the reading, writing and describing of config structs, from their fields.
//! The traits in `quiver-control` document their meaning.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::parse::Parse;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Lit, LitStr, Meta, Token, parse_macro_input,
};

/// Makes a struct a record: a group of fields inside an object.
#[proc_macro_derive(Record, attributes(default))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    record(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Makes a struct a config object: a record with a kind and a key.
#[proc_macro_derive(Object, attributes(object, key, fixed, follows, default, secret))]
pub fn derive_object(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let both = record(&input).and_then(|record| Ok([record, object(&input)?]));
    match both {
        Ok(parts) => parts.into_iter().collect::<Tokens>().into(),
        Err(error) => error.into_compile_error().into(),
    }
}

fn named_fields(input: &DeriveInput) -> Result<Vec<&Field>, Error> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Ok(fields.named.iter().filter(|field| !is_marker(field)).collect()),
            _ => Err(Error::new(input.span(), "the fields of a record have names")),
        },
        _ => Err(Error::new(input.span(), "only a struct can be a record")),
    }
}

fn type_name(field: &Field) -> Option<&syn::Ident> {
    let syn::Type::Path(path) = &field.ty else { return None };
    path.path.segments.last().map(|segment| &segment.ident)
}

/// Whether a field only says for which type the record is one of several, so that files have nothing for it.
fn is_marker(field: &Field) -> bool {
    type_name(field).is_some_and(|name| name == "PhantomData")
}

/// The marker of a record that has one, as its initializer.
fn marker(input: &DeriveInput) -> Option<Tokens> {
    let Data::Struct(data) = &input.data else { return None };
    let ident = &data.fields.iter().find(|field| is_marker(field))?.ident;
    Some(quote!(#ident: ::core::marker::PhantomData,))
}

fn has(attributes: &[Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident(name))
}

/// The doc comment, its lines joined by spaces.
fn doc(attributes: &[Attribute], span: proc_macro2::Span) -> Result<String, Error> {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value
        {
            lines.push(text.value().trim().to_owned());
        }
    }
    match lines.join(" ").trim() {
        "" => Err(Error::new(span, "a doc comment is missing: it is the text of the help and of the documentation")),
        text => Ok(text.to_owned()),
    }
}

/// The field's name in files: `mac_age` is `mac-age`.
fn file_name(field: &Field) -> String {
    let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    ident.trim_start_matches("r#").replace('_', "-")
}

/// The default of a field as an `Option` expression.
fn default(field: &Field) -> Result<Tokens, Error> {
    let ty = &field.ty;
    for attribute in &field.attrs {
        if attribute.path().is_ident("default") {
            let value: Expr = attribute.parse_args()?;
            return Ok(quote!(::core::option::Option::<#ty>::Some(#value)));
        }
    }
    Ok(quote!(::core::option::Option::<#ty>::None))
}

fn record(input: &DeriveInput) -> Result<Tokens, Error> {
    let name = &input.ident;
    let (of, ty, bounds) = input.generics.split_for_impl();
    let about = doc(&input.attrs, name.span())?;
    let marker = marker(input);
    let (mut infos, mut reads, mut names, mut idents) = (vec![], vec![], vec![], vec![]);
    let (mut concise, mut differences) = (vec![], vec![]);
    for field in named_fields(input)? {
        let (text, default, file_name) = (doc(&field.attrs, field.span())?, default(field)?, file_name(field));
        let [key, fixed, secret] = ["key", "fixed", "secret"].map(|name| has(&field.attrs, name));
        infos.push(quote!(derived::info(#file_name, #text, #default, #key, #fixed, #secret)));
        reads.push(quote!(derived::field(values, #file_name, #default, problems)));
        let ident = &field.ident;
        let write = quote!(values.insert(#file_name.to_owned(), self.#ident.write_concise()););
        concise.push(match key {
            true => write,
            false => quote!(if !derived::is_default(&self.#ident, #default) { #write }),
        });
        let is_default = if key { quote!(false) } else { quote!(derived::is_default(&self.#ident, #default)) };
        differences.push(quote! {
            let is_same = other.map_or_else(|| #is_default, |other| self.#ident.is(&other.#ident));
            if !is_same {
                values.insert(#file_name.to_owned(), self.#ident.write_difference(other.map(|other| &other.#ident)));
            }
        });
        names.push(file_name);
        idents.push(field.ident.clone());
    }
    let count = names.len();
    Ok(quote! {
        const _: () = {
            use ::quiver_control::object::field::{derived, Field, FieldInfo, Place, Problems};

            impl #of ::quiver_control::object::Record for #name #ty #bounds {
                const DOC: &'static str = #about;
                fn record_fields() -> ::std::vec::Vec<FieldInfo> {
                    ::std::vec![#(#infos),*]
                }
                fn read_record(values: &derived::Map<::std::string::String, derived::Value>, problems: &mut Problems)
                    -> ::core::option::Option<Self>
                {
                    // All fields are read before any is missed, so that all problems are told.
                    derived::unknown(values, &[#(#names),*], problems);
                    #(let #idents = #reads;)*
                    ::core::option::Option::Some(Self { #marker #(#idents: #idents?),* })
                }
                fn write_record(&self) -> derived::Map<::std::string::String, derived::Value> {
                    let mut values = derived::Map::with_capacity(#count);
                    #(values.insert(#names.to_owned(), self.#idents.write());)*
                    values
                }
                fn write_concise_record(&self) -> derived::Map<::std::string::String, derived::Value> {
                    let mut values = derived::Map::new();
                    #(#concise)*
                    values
                }
                fn write_record_difference(&self, other: ::core::option::Option<&Self>)
                    -> derived::Map<::std::string::String, derived::Value>
                {
                    let mut values = derived::Map::new();
                    #(#differences)*
                    values
                }
                fn record_references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, derived::ObjectRef)) {
                    #(self.#idents.references(&Place::Field(at, #names), found);)*
                }
                fn record_without(self, gone: &dyn Fn(&derived::ObjectRef) -> bool) -> ::core::option::Option<Self> {
                    ::core::option::Option::Some(Self { #marker #(#idents: self.#idents.without(gone)?),* })
                }
            }

            impl #of Field for #name #ty #bounds {
                fn read(value: &derived::Value, problems: &mut Problems) -> ::core::option::Option<Self> {
                    derived::read(value, problems)
                }
                fn write(&self) -> derived::Value {
                    derived::Value::Object(derived::Record::write_record(self))
                }
                fn write_concise(&self) -> derived::Value {
                    derived::Value::Object(derived::Record::write_concise_record(self))
                }
                fn write_difference(&self, other: ::core::option::Option<&Self>) -> derived::Value {
                    derived::Value::Object(derived::Record::write_record_difference(self, other))
                }
                fn is(&self, other: &Self) -> bool {
                    true #(&& self.#idents.is(&other.#idents))*
                }
                fn references(&self, at: &Place<'_>, found: &mut dyn FnMut(&Place<'_>, derived::ObjectRef)) {
                    derived::Record::record_references(self, at, found);
                }
                fn without(self, gone: &dyn Fn(&derived::ObjectRef) -> bool) -> ::core::option::Option<Self> {
                    derived::Record::record_without(self, gone)
                }
                fn expected() -> ::std::string::String {
                    derived::expected::<Self>()
                }
                fn schema() -> derived::Value {
                    derived::schema::<Self>()
                }
                fn fields() -> ::std::vec::Vec<FieldInfo> {
                    <Self as derived::Record>::record_fields()
                }
            }
        };
    })
}

/// Content of `#[object(...)]`.
struct ObjectAttribute {
    kind: Expr,
    provides: Option<LitStr>,
    parts: Vec<LitStr>,
    prefix: Option<LitStr>,
}

fn object_attribute(input: &DeriveInput) -> Result<ObjectAttribute, Error> {
    let (mut kind, mut provides, mut parts, mut prefix) = (None, None, vec![], None);
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("object")) {
        attribute.parse_nested_meta(|meta| {
            match () {
                () if meta.path.is_ident("kind") => kind = Some(meta.value()?.parse()?),
                () if meta.path.is_ident("provides") => provides = Some(meta.value()?.parse()?),
                () if meta.path.is_ident("parts") => {
                    let endings;
                    syn::parenthesized!(endings in meta.input);
                    parts = endings.parse_terminated(<LitStr as Parse>::parse, Token![,])?.into_iter().collect();
                }
                () if meta.path.is_ident("prefix") => prefix = Some(meta.value()?.parse::<LitStr>()?),
                () => {
                    let expected = "expected kind = \"...\", provides = \"...\", prefix = \"...\" or parts(\"...\")";
                    return Err(meta.error(expected));
                }
            }
            Ok(())
        })?;
    }
    let kind = kind.ok_or_else(|| Error::new(input.span(), "#[object(kind = \"...\")] is missing"))?;
    Ok(ObjectAttribute { kind, provides, parts, prefix })
}

fn object(input: &DeriveInput) -> Result<Tokens, Error> {
    let name = &input.ident;
    let (of, ty, bounds) = input.generics.split_for_impl();
    let ObjectAttribute { kind, provides, parts, prefix } = object_attribute(input)?;
    let prefix = prefix.iter();
    let provides = match provides {
        Some(space) => quote!(::core::option::Option::Some(#space)),
        None => quote!(::core::option::Option::None),
    };
    let fields = named_fields(input)?;
    let keys: Vec<_> = fields.iter().filter(|field| has(&field.attrs, "key")).collect();
    if keys.is_empty() {
        return Err(Error::new(input.span(), "an object has at least one #[key] field"));
    }
    let key_idents: Vec<_> = keys.iter().map(|field| &field.ident).collect();
    let key_types: Vec<_> = keys.iter().map(|field| &field.ty).collect();
    let key = if keys.len() == 1 { quote!(#(#key_types)*) } else { quote!((#(#key_types),*)) };
    let key_value =
        if keys.len() == 1 { quote!(#(self.#key_idents.clone())*) } else { quote!((#(self.#key_idents.clone()),*)) };
    let key_pattern = if keys.len() == 1 { quote!(#(#key_idents)*) } else { quote!((#(#key_idents),*)) };
    let key_format = vec!["{}"; keys.len()].join(" ");
    let fixed_idents = fields.iter().filter(|field| has(&field.attrs, "fixed")).map(|field| &field.ident);
    let followed: Vec<_> = fields.iter().filter_map(|field| follows(field).transpose()).collect::<Result<_, _>>()?;
    let constructor = constructor(input, &fields)?;
    Ok(quote! {
        impl #of ::quiver_control::object::Object for #name #ty #bounds {
            const KIND: &'static str = #kind;
            const PROVIDES: ::core::option::Option<&'static str> = #provides;
            const PARTS: &'static [&'static str] = &[#(#parts),*];
            #(const PREFIX: &'static str = #prefix;)*
            type Key = #key;
            fn key(&self) -> Self::Key {
                #key_value
            }
            fn must_be_replaced_by(&self, new: &Self) -> bool {
                false #(|| self.#fixed_idents != new.#fixed_idents)*
            }
            fn follows(&self) -> ::std::vec::Vec<::quiver_control::object::ObjectRef> {
                ::std::vec![#(#followed),*]
            }
            fn key_text(key: &Self::Key) -> ::std::string::String {
                let #key_pattern = key;
                ::std::format!(#key_format, #(#key_idents),*)
            }
        }
        #constructor
    })
}

/// The name of the object that a field with `#[follows(KIND)]` speaks of.
fn follows(field: &Field) -> Result<Option<Tokens>, Error> {
    let Some(attribute) = field.attrs.iter().find(|attribute| attribute.path().is_ident("follows")) else {
        return Ok(None);
    };
    let (kind, ident) = (attribute.parse_args::<Expr>()?, &field.ident);
    Ok(Some(quote!(::quiver_control::object::ObjectRef::new(#kind, self.#ident.to_string()))))
}

/// `new(key fields...)`, where all other fields have a default; a field whose type gives the default says so by
/// being an `Option` or a `Vec`.
fn constructor(input: &DeriveInput, fields: &[&Field]) -> Result<Tokens, Error> {
    let (mut parameters, mut values) = (vec![], vec![]);
    for field in fields {
        let (ident, ty) = (&field.ident, &field.ty);
        if has(&field.attrs, "key") {
            parameters.push(quote!(#ident: #ty));
            values.push(quote!(#ident));
        } else if let Some(attribute) = field.attrs.iter().find(|attribute| attribute.path().is_ident("default")) {
            let value: Expr = attribute.parse_args()?;
            values.push(quote!(#ident: #value));
        } else if has_default_by_type(field) {
            values.push(quote!(#ident: ::core::default::Default::default()));
        } else {
            return Ok(Tokens::new());
        }
    }
    let (name, marker) = (&input.ident, marker(input));
    let (of, ty, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #of #name #ty #bounds {
            /// The object of this key, all other fields at their defaults.
            pub fn new(#(#parameters),*) -> Self {
                Self { #marker #(#values),* }
            }
        }
    })
}

fn has_default_by_type(field: &Field) -> bool {
    type_name(field).is_some_and(|name| name == "Option" || name == "Vec")
}
