//! Macros that make types of scalars: names of things, words.

/// Makes a type for names of things: a text or a number that refers to an object.
///
/// `reference! { /// The name of an interface. pub struct InterfaceName(String) in "interface"; }` makes a newtype
/// whose values must exist in the space `interface`: command lines complete and check them, files are checked for
/// dangling ones, and objects that hold one are applied after the object that provides it. What is expected can be said in
/// better words: `in "switches", "the number of a switch"`.
#[macro_export]
macro_rules! reference {
    ($(#[$meta:meta])* $vis:vis struct $name:ident($inner:ty) in $space:literal;) => {
        $crate::reference! { $(#[$meta])* $vis struct $name($inner) in $space, concat!("the name of one ", $space); }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident($inner:ty) in $space:literal, $expected:expr;) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(pub $inner);

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl $crate::object::Scalar for $name {
            const NAME: &'static str = $space;
            const EXPECTED: &'static str = $expected;
            const SPACE: Option<&'static str> = Some($space);
            fn parse(text: &str) -> Result<Self, String> {
                <$inner as $crate::object::Scalar>::parse(text).map($name)
            }
            fn to_value(&self) -> $crate::serde_json::Value {
                $crate::object::Scalar::to_value(&self.0)
            }
            fn from_value(value: &$crate::serde_json::Value) -> Result<Self, String> {
                <$inner as $crate::object::Scalar>::from_value(value).map($name)
            }
            fn schema() -> $crate::serde_json::Value {
                <$inner as $crate::object::Scalar>::schema()
            }
        }
    };
}

/// Makes an enum of words: `choice! { /// Direction. pub enum Side { /// Receive. Rx = "rx", /// Transmit. Tx = "tx" }
/// as "side"; }`.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)?
    } as $type:literal, $expected:literal;) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $name { $($(#[$doc])* $variant),+ }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(match self { $($name::$variant => $word),+ })
            }
        }

        impl $crate::object::Scalar for $name {
            const NAME: &'static str = $type;
            const EXPECTED: &'static str = $expected;
            fn parse(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err(String::new()),
                }
            }
            fn schema() -> $crate::serde_json::Value {
                $crate::serde_json::json!({"enum": [$($word),+]})
            }
            fn choices() -> &'static [&'static str] {
                &[$($word),+]
            }
        }
    };
}
