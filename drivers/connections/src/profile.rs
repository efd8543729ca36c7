//! The packets of a connection: what a client asks, and what a server answers.

use crate::words::{LoadError, Words};

quiver_control::choice! {
    /// Transport of connections.
    pub enum Transport {
        /// TCP (RFC 9293).
        Tcp = "tcp",
        /// UDP (RFC 768).
        Udp = "udp",
    } as "transport", "tcp or udp";
}

quiver_control::choice! {
    /// How a server answers its client's FIN.
    pub enum Close {
        /// An acknowledgement, and then a FIN: two packets.
        Separate = "separate",
        /// Both in one packet.
        Combined = "combined",
    } as "close", "separate or combined";
}

/// Packets of a connection. CSIT's have names: see [`Profile::named`].
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Transport.
    pub transport: Transport,
    /// How often the client asks.
    pub rounds: u32,
    /// Bytes of payload that the client sends each time.
    pub request: u32,
    /// Bytes of payload that the server answers with.
    pub response: u32,
    /// Bytes of payload of a packet at most.
    pub segment: u32,
    /// How the server answers a FIN.
    pub close: Close,
    /// The response lasts until the server closes, however long it is.
    pub until_close: bool,
    /// Path of an HTTP/1.1 request, in which `{n}` stands for the connection's number in seven digits.
    pub get: Option<String>,
}

/// CSIT's profiles, with what each is.
pub const NAMES: [(&str, &str); 4] = [
    ("tcp-cps", "TCP: open and close, 7 packets"),
    ("tcp-tput", "TCP: 5 data packets each way, 16 packets"),
    ("udp-cps", "UDP: a packet each way, 2 packets"),
    ("udp-tput", "UDP: 5 packets each way, 10 packets"),
];

/// Bytes of a frame of 100 bytes, CSIT's smallest with data, in front of and behind the payload: Ethernet, IPv4, TCP without options,
/// and the checksum.
const AROUND_TCP: u32 = 14 + 20 + 20 + 4;
const AROUND_UDP: u32 = 14 + 20 + 8 + 4;
const FRAME: u32 = 100;

/// Sessions of a client in CSIT's profiles.
pub const CSIT_PORTS: u32 = 63;

impl Profile {
    /// A profile by its name: `tcp-cps`, or CSIT's own `ethip4tcp-1024h`, which also says how many clients there are.
    pub fn named(name: &str) -> Option<(Profile, Option<u32>)> {
        let (transport, is_tput, hosts) = match name {
            "tcp-cps" => (Transport::Tcp, false, None),
            "tcp-tput" => (Transport::Tcp, true, None),
            "udp-cps" => (Transport::Udp, false, None),
            "udp-tput" => (Transport::Udp, true, None),
            _ => {
                let (transport, rest) = match name.strip_prefix("ethip4tcp-") {
                    Some(rest) => (Transport::Tcp, rest),
                    None => (Transport::Udp, name.strip_prefix("ethip4udp-")?),
                };
                let (hosts, is_tput) = match rest.strip_suffix("-pps") {
                    Some(hosts) => (hosts, true),
                    None => (rest, false),
                };
                (transport, is_tput, Some(hosts.strip_suffix('h')?.parse().ok()?))
            }
        };
        let data = FRAME - if transport == Transport::Tcp { AROUND_TCP } else { AROUND_UDP };
        let (rounds, bytes, close) = match (transport, is_tput) {
            (Transport::Tcp, false) => (1, 0, Close::Separate),
            (Transport::Tcp, true) => (5, data, Close::Combined),
            (Transport::Udp, false) => (1, data, Close::Combined),
            // Five packets and then five answers are one round.
            (Transport::Udp, true) => (1, 5 * data, Close::Combined),
        };
        let segment = if transport == Transport::Tcp { 1448 } else { data };
        let (request, response) = (bytes, bytes);
        let profile = Profile { transport, rounds, request, response, segment, close, until_close: false, get: None };
        Some((profile, hosts))
    }

    /// Takes the words that are a profile's own. False if this is none of them.
    pub(crate) fn take(&mut self, word: &str, words: &mut Words<'_>) -> Result<bool, LoadError> {
        match word {
            "transport" => self.transport = words.choice()?,
            "rounds" => self.rounds = words.number(1, 1_000_000)?,
            "request" => self.request = words.number(0, 1 << 30)?,
            "response" => match words.until_close()? {
                true => (self.until_close, self.response) = (true, 0),
                false => (self.until_close, self.response) = (false, words.number(0, 1 << 30)?),
            },
            "segment" => self.segment = words.number(1, 9000)?,
            "close" => self.close = words.choice()?,
            "get" => self.get = Some(words.text()?.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The bytes that a client sends, of the connection 0; they are followed by zeros up to `request` bytes.
    pub fn request_text(&self) -> Vec<u8> {
        let path = self.get.as_ref().map(|path| path.replace("{n}", &digits(0)));
        let text = path.map(|path| format!("GET {path} HTTP/1.1\r\nHost: quiver\r\nConnection: close\r\n\r\n"));
        text.unwrap_or_default().into_bytes()
    }
    /// Where the connection's number begins in this text.
    pub fn number_at(&self) -> Option<usize> {
        self.get.as_ref()?.find("{n}").map(|at| at + "GET ".len())
    }
    /// Packets that a client and a server send without loss, acknowledgements of several packets left out: none if that depends on the
    /// peer.
    pub fn packets(&self) -> Option<[u32; 2]> {
        let of = |bytes: u32| bytes.div_ceil(self.segment);
        let (there, back) = (self.rounds * of(self.request), self.rounds * of(self.response));
        match self.transport {
            _ if self.until_close => None,
            Transport::Udp => Some([there, back]),
            Transport::Tcp if of(self.request) > 1 || of(self.response) > 1 => None,
            Transport::Tcp if self.request == 0 && self.response > 0 => None,
            Transport::Tcp => {
                let close = if self.close == Close::Separate { 2 } else { 1 };
                // Without an answer to send, data is acknowledged alone.
                let alone = if self.request > 0 && self.response == 0 { self.rounds } else { 0 };
                // SYN, ACK, FIN, ACK; SYN-ACK and what answers the FIN.
                Some([there + 4, back + alone + 1 + close])
            }
        }
    }
}

/// A connection's number as it stands in a request.
pub fn digits(id: u32) -> String {
    format!("{id:07}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_as_many_packets_as_csits() {
        let packets = |name| Profile::named(name).and_then(|(profile, _)| profile.packets());
        assert_eq!(packets("tcp-cps"), Some([4, 3]));
        assert_eq!(packets("udp-cps"), Some([1, 1]));
        assert_eq!(packets("tcp-tput"), Some([9, 7]));
        assert_eq!(packets("udp-tput"), Some([5, 5]));
    }

    #[test]
    fn csits_own_names_say_the_clients() {
        let of = |name| Profile::named(name);
        assert_eq!(of("ethip4tcp-1024h"), of("tcp-cps").map(|(profile, _)| (profile, Some(1024))));
        assert_eq!(of("ethip4udp-262144h-pps"), of("udp-tput").map(|(profile, _)| (profile, Some(262_144))));
        for wrong in ["tcp", "ethip4tcp-h", "ethip6tcp-4h", "ethip4tcp-1024h-cps", "ethip4tcp-99999999999h"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_request_has_the_connections_number() {
        let (mut profile, _) = Profile::named("tcp-cps").unwrap();
        profile.get = Some("/files/{n}.bin".into());
        let (text, at) = (profile.request_text(), profile.number_at().unwrap());
        assert!(text.starts_with(b"GET /files/0000000.bin HTTP/1.1\r\n"));
        assert_eq!(&text[at..at + 7], b"0000000");
    }
}
