//! Macros that make types of scalars: names of things, words, numbers of a range.

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
/// as "side", "rx or tx"; }`.
///
/// Where a crate that knows nothing of configuration has the same enum, `pub enum Side of engine::Side { ... }` also makes
/// each `From` the other.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident of $theirs:ty {
        $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)?
    } as $type:literal, $expected:literal;) => {
        $crate::choice! {
            $(#[$meta])* $vis enum $name { $($(#[$doc])* $variant = $word),+ } as $type, $expected;
        }

        impl ::std::convert::From<$name> for $theirs {
            fn from(ours: $name) -> $theirs {
                match ours { $($name::$variant => <$theirs>::$variant),+ }
            }
        }

        impl ::std::convert::From<$theirs> for $name {
            fn from(theirs: $theirs) -> $name {
                match theirs { $(<$theirs>::$variant => $name::$variant),+ }
            }
        }
    };
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

/// Makes a type for the numbers of a range: `number! { /// Queues of a port. pub struct Queues(u16) in 1..=256 as "queues"; }`.
#[macro_export]
macro_rules! number {
    ($(#[$meta:meta])* $vis:vis struct $name:ident($inner:ty) in $min:literal..=$max:literal as $type:literal;) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name($inner);

        impl $name {
            /// The least of them.
            pub const MIN: $name = $name($min);
            /// The greatest of them.
            pub const MAX: $name = $name($max);

            /// The number, if it is one of them.
            pub const fn new(number: $inner) -> Option<$name> {
                if $min <= number && number <= $max { Some($name(number)) } else { None }
            }

            /// As a plain number.
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl $crate::object::Scalar for $name {
            const NAME: &'static str = $type;
            const EXPECTED: &'static str = concat!("a number from ", $min, " to ", $max);
            fn parse(text: &str) -> Result<Self, String> {
                <$inner as $crate::object::Scalar>::parse(text).and_then(|number| $name::new(number).ok_or_else(String::new))
            }
            fn to_value(&self) -> $crate::serde_json::Value {
                $crate::object::Scalar::to_value(&self.0)
            }
            fn from_value(value: &$crate::serde_json::Value) -> Result<Self, String> {
                let number = <$inner as $crate::object::Scalar>::from_value(value);
                number.and_then(|number| $name::new(number).ok_or_else(String::new))
            }
            fn schema() -> $crate::serde_json::Value {
                $crate::serde_json::json!({"type": "integer", "minimum": $min, "maximum": $max})
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::object::Scalar;

    number! {
        /// Queues of a port.
        pub struct Queues(u16) in 1..=256 as "queues";
    }

    #[derive(Debug, PartialEq)]
    enum Side {
        Rx,
        Tx,
    }

    choice! {
        /// A direction.
        pub enum Direction of Side {
            /// Receive.
            Rx = "rx",
            /// Transmit.
            Tx = "tx",
        } as "direction", "rx or tx";
    }

    #[test]
    fn a_number_outside_of_its_range_cannot_be_had() {
        assert_eq!((Queues::MIN.get(), Queues::MAX.get(), Queues::new(0), Queues::new(257)), (1, 256, None, None));
        assert_eq!(Queues::parse("256"), Ok(Queues::MAX));
        assert_eq!(Queues::from_value(&json!(1)), Ok(Queues::MIN));
        for text in ["0", "257", "65537", "-1", "", "one"] {
            assert_eq!(Queues::parse(text), Err(String::new()), "{text}");
        }
        for value in [json!(0), json!(257), json!("1"), json!(1.5), json!(null)] {
            assert_eq!(Queues::from_value(&value), Err(String::new()), "{value}");
        }
        assert_eq!((Queues::MAX.to_string(), Queues::MAX.to_value()), ("256".to_owned(), json!(256)));
        assert_eq!(Queues::EXPECTED, "a number from 1 to 256");
        assert_eq!(Queues::schema(), json!({"type": "integer", "minimum": 1, "maximum": 256}));
    }

    #[test]
    fn words_stand_for_the_values_of_another_enum() {
        for (word, side) in [("rx", Side::Rx), ("tx", Side::Tx)] {
            let direction = Direction::parse(word).expect("one of them");
            assert_eq!(Direction::from(Side::from(direction)), direction);
            assert_eq!((direction.to_string().as_str(), Side::from(direction)), (word, side));
        }
        assert_eq!(Direction::parse("up"), Err(String::new()));
    }
}
