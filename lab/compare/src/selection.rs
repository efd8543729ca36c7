//! Which of the stored documents one side is: a place, and what they have in common.

use std::str::FromStr;

use quiver_result::Document;

/// The value of a key that selects all: what both sides say it of is compared across.
const ANY: &str = "*";

/// One side: `results/old`, `revision=0275013`, `s3://bucket/lab,device=vpp,machine=perf1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// A folder or URL; without one the documents are where the command's option says.
    pub place: Option<String>,
    /// Part of the device's version.
    pub revision: Option<String>,
    /// The kind of device: `quiver`, `vpp`, in any case of letters; `*` is any.
    pub device: Option<String>,
    /// One of the hosts; `*` is any.
    pub machine: Option<String>,
}

/// A selection that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// There are two places.
    #[error("'{second}' is a second place beside '{first}': name one folder or URL, and revision=, device=, machine=")]
    Places {
        /// The first value.
        first: String,
        /// The other.
        second: String,
    },
    /// There is no such key, or it is here twice, or has no value.
    #[error("'{part}': write revision=, device= or machine=, each once, with a value")]
    Key {
        /// The text of that part.
        part: String,
    },
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Selection, SelectionError> {
        let mut selection = Selection::default();
        for part in text.split(',') {
            let wrong = || SelectionError::Key { part: part.to_owned() };
            // A place may have an equals sign behind a slash.
            let key = part.split_once('=').filter(|(key, _)| !key.contains('/'));
            let slot = match key {
                Some(("revision", _)) => &mut selection.revision,
                Some(("device", _)) => &mut selection.device,
                Some(("machine", _)) => &mut selection.machine,
                Some(_) => return Err(wrong()),
                None => &mut selection.place,
            };
            let value = key.map_or(part, |(_, value)| value);
            match slot {
                Some(first) if key.is_none() => {
                    return Err(SelectionError::Places { first: first.clone(), second: part.to_owned() });
                }
                None if !value.is_empty() => *slot = Some(value.to_owned()),
                _ => return Err(wrong()),
            }
        }
        Ok(selection)
    }
}

impl Selection {
    /// Whether a document is of this side.
    pub fn matches(&self, document: &Document) -> bool {
        let is = |wanted: &Option<String>, is: &dyn Fn(&str) -> bool| {
            wanted.as_deref().is_none_or(|wanted| wanted == ANY || is(wanted))
        };
        is(&self.revision, &|revision| document.dut_version.contains(revision))
            && is(&self.device, &|device| document.dut_type.eq_ignore_ascii_case(device))
            && is(&self.machine, &|machine| document.hosts.iter().any(|host| host == machine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_a_place_and_keys() {
        let selection: Selection = "s3://bucket/a=b,device=vpp,machine=perf1".parse().unwrap();
        let expected = Selection {
            place: Some("s3://bucket/a=b".into()),
            device: Some("vpp".into()),
            machine: Some("perf1".into()),
            revision: None,
        };
        assert_eq!(selection, expected);
        assert_eq!("revision=1".parse::<Selection>().unwrap().place, None);
        for (wrong, said) in [
            ("a,b", "'b' is a second place beside 'a'"),
            ("dut=vpp", "'dut=vpp': write revision="),
            ("device=", "'device=': write"),
            ("device=a,device=b", "'device=b': write"),
            ("", "'': write"),
        ] {
            let error = wrong.parse::<Selection>().unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
