//! [`Text`]: a configuration as a text.

use std::ops::Deref;
use std::sync::Arc;

/// A text that may be very long, or its part behind a place. It is shared, not copied.
#[derive(Clone, Debug, Default)]
pub struct Text {
    whole: Arc<String>,
    from: usize,
}

impl Text {
    /// Leaves out so many bytes more of its beginning.
    pub fn behind(self, bytes: usize) -> Text {
        Text { from: self.from + bytes, ..self }
    }

    /// The text as a string, which is copied only if the text is shared or a part.
    pub fn into_string(self) -> String {
        let Text { whole, from } = self;
        let whole = if from == 0 { Arc::try_unwrap(whole) } else { Err(whole) };
        whole.unwrap_or_else(|whole| Text { whole, from }.deref().to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text { whole: Arc::new(text), from: 0 }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.whole.get(self.from..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_from_a_place_on() {
        let whole = Text::from("head\nbody".to_owned());
        let body = whole.clone().behind(5);
        assert_eq!((&*whole, &*body, &*body.clone().behind(100)), ("head\nbody", "body", ""));
        assert_eq!((whole.into_string(), body.into_string()), ("head\nbody".to_owned(), "body".to_owned()));
    }
}
