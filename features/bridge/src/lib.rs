//! Cross-connect and bridge domains.
