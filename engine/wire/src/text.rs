//! In configuration files, values of this crate are strings in the form that they print as.
use crate::{InterfaceAddress, IpFamily, MacAddress, Prefix};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! as_text {
    ($($type:ty $(, $family:ident)?;)+) => {$(
        impl$(<$family: IpFamily>)? Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de, $($family: IpFamily)?> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )+};
}

as_text! {
    MacAddress;
    Prefix<F>, F;
    InterfaceAddress<F>, F;
}

#[cfg(test)]
mod tests {
    use crate::{MacAddress, Prefix, V4, VlanId};

    #[test]
    fn values_are_strings_and_vlans_numbers() {
        let value: (MacAddress, Prefix<V4>, VlanId) =
            serde_json::from_str(r#"["4201.0a0a.0101", "10.1.2.3/8", 10]"#).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"["42:01:0a:0a:01:01","10.0.0.0/8",10]"#);
        let error = serde_json::from_str::<VlanId>("4095").unwrap_err().to_string();
        assert!(error.contains("1 to 4094"), "{error}");
    }
}
