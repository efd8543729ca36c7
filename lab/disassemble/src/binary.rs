//! A program as the check sees it: its functions by address, with their names and bytes.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};

/// Why a program cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum BinaryError {
    /// The file cannot be read.
    #[error("{}: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is no program, or a broken one.
    #[error("{}: {source}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The reader's error.
        source: object::Error,
    },
    /// No symbol has the names of types in it.
    #[error(
        "{}: no symbol names types; build it unstripped, with `-C symbol-mangling-version=v0` in RUSTFLAGS",
        file.display()
    )]
    NoNames {
        /// The file.
        file: PathBuf,
    },
}

/// One function.
pub struct Function {
    /// Where it is loaded, before relocation.
    pub address: u64,
    /// All its names, since functions of equal code may have become one.
    pub names: Vec<String>,
    /// Its machine code.
    pub code: Vec<u8>,
}

/// The program.
pub struct Binary {
    functions: BTreeMap<u64, Function>,
    /// Call targets by slot address: a function of this program, or a name.
    slots: HashMap<u64, Callee>,
}

/// The target of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function of the program, by its address.
    Local(u64),
    /// A function of a shared library, by its name.
    Import(String),
}

impl Binary {
    /// Reads a program.
    pub fn read(file: &Path) -> Result<Binary, BinaryError> {
        let bytes = std::fs::read(file).map_err(|source| BinaryError::Unreadable { file: file.into(), source })?;
        let malformed = |source| BinaryError::Malformed { file: file.into(), source };
        let object = object::File::parse(&*bytes).map_err(malformed)?;
        let mut functions = BTreeMap::<u64, Function>::new();
        let mut has_types = false;
        for symbol in object.symbols() {
            let Some(section) = symbol.section_index().filter(|_| symbol.kind() == SymbolKind::Text) else { continue };
            let section = object.section_by_index(section).map_err(malformed)?;
            let code = section.data_range(symbol.address(), symbol.size()).map_err(malformed)?;
            let (Some(code), Ok(mangled)) = (code.filter(|code| !code.is_empty()), symbol.name()) else { continue };
            has_types |= mangled.starts_with("_RI");
            let new = || Function { address: symbol.address(), names: vec![], code: code.to_vec() };
            functions.entry(symbol.address()).or_insert_with(new).names.push(demangled(mangled));
        }
        if !has_types {
            return Err(BinaryError::NoNames { file: file.into() });
        }
        let mut slots = HashMap::new();
        for (slot, relocation) in object.dynamic_relocations().into_iter().flatten() {
            let callee = match relocation.target() {
                RelocationTarget::Symbol(symbol) => {
                    let symbol = object
                        .dynamic_symbol_table()
                        .and_then(|table| object::ObjectSymbolTable::symbol_by_index(&table, symbol).ok());
                    match symbol {
                        Some(symbol) if symbol.is_definition() => Callee::Local(symbol.address()),
                        Some(symbol) => Callee::Import(symbol.name().unwrap_or("?").to_owned()),
                        None => continue,
                    }
                }
                _ => Callee::Local(relocation.addend() as u64),
            };
            slots.insert(slot, callee);
        }
        Ok(Binary { functions, slots })
    }
    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.functions.values()
    }
    /// The function that begins at an address.
    pub fn at(&self, address: u64) -> Option<&Function> {
        self.functions.get(&address)
    }
    /// The target in a slot of the table of indirect calls.
    pub fn slot(&self, address: u64) -> Option<&Callee> {
        self.slots.get(&address)
    }
    /// The name of a callee, for people and for the list of calls that may be.
    pub fn name(&self, callee: &Callee) -> String {
        match callee {
            Callee::Import(name) => name.clone(),
            Callee::Local(address) => match self.at(*address) {
                Some(function) => function.names[0].clone(),
                None => format!("{address:#x}"),
            },
        }
    }
}

/// A symbol's name as Rust writes it, without hashes.
fn demangled(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}
