//! Segments of TCP over IPv4 without payload, which most packets of short connections are: all places are fixed.

use quiver_wire::TcpFlags;

use crate::plan::Tuple;

/// Bytes of the frame, of its headers of Ethernet and IPv4, and of the segment without and with the option of a SYN.
const FRAME: usize = 60;
const HEADERS: usize = 34;
const TCP: usize = 20;
const SYN: usize = 24;

/// Frames of a generator's segments without payload: of those without options, and of SYNs.
#[derive(Debug)]
pub struct Bare {
    plain: Form,
    syn: Form,
}

/// A frame that lacks addresses, ports, numbers and flags, and the sums of what it has.
#[derive(Debug)]
struct Form {
    bytes: [u8; FRAME],
    ip_sum: u64,
    tcp_sum: u64,
}

impl Bare {
    /// Frames behind headers of Ethernet and IPv4 without options, whose length, checksum and addresses are zero; `option` is the one of
    /// SYNs. None if the headers are longer or shorter.
    pub fn new(headers: &[u8], window: u16, option: [u8; 4]) -> Option<Bare> {
        let headers: &[u8; HEADERS] = headers.try_into().ok()?;
        let form = |length: usize, option: &[u8]| {
            let mut bytes = [0; FRAME];
            bytes[..HEADERS].copy_from_slice(headers);
            bytes[16..18].copy_from_slice(&(length as u16 + 20).to_be_bytes());
            bytes[46] = (length as u8 / 4) << 4;
            bytes[48..50].copy_from_slice(&window.to_be_bytes());
            bytes[54..54 + option.len()].copy_from_slice(option);
            // The pseudo header has the protocol's number and the segment's length (RFC 9293, section 3.1).
            let tcp_sum = sum(&bytes[HEADERS..]) + u64::from(bytes[23]) + length as u64;
            Form { bytes, ip_sum: sum(&bytes[14..HEADERS]), tcp_sum }
        };
        Some(Bare { plain: form(TCP, &[]), syn: form(SYN, &option) })
    }

    /// Writes a segment into a frame of 60 bytes. False, and nothing written, if the frame has another length.
    #[inline(always)]
    pub fn write(&self, frame: &mut [u8], tuple: &Tuple, flags: TcpFlags, sequence: u32, acknowledgment: u32) -> bool {
        let Ok(frame) = <&mut [u8; FRAME]>::try_from(frame) else { return false };
        let form = if flags.contains(TcpFlags::SYN) { &self.syn } else { &self.plain };
        *frame = form.bytes;
        let [source, destination] = [tuple.source as u32, tuple.destination as u32];
        let ports = u32::from(tuple.source_port) << 16 | u32::from(tuple.destination_port);
        // 2^16 is 1 modulo 2^16 - 1, so a word of 32 bits counts as its two halves.
        let addresses = u64::from(source) + u64::from(destination);
        let numbers = u64::from(sequence) + u64::from(acknowledgment) + u64::from(ports);
        let ip = !folded(form.ip_sum + addresses);
        let tcp = !folded(form.tcp_sum + addresses + numbers + u64::from(flags.0));
        frame[24..26].copy_from_slice(&ip.to_be_bytes());
        frame[26..30].copy_from_slice(&source.to_be_bytes());
        frame[30..34].copy_from_slice(&destination.to_be_bytes());
        frame[34..38].copy_from_slice(&ports.to_be_bytes());
        frame[38..42].copy_from_slice(&sequence.to_be_bytes());
        frame[42..46].copy_from_slice(&acknowledgment.to_be_bytes());
        frame[47] = flags.0;
        frame[50..52].copy_from_slice(&tcp.to_be_bytes());
        true
    }
}

/// Words of 16 bits added up.
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks_exact(2).map(|word| u64::from(word[0]) << 8 | u64::from(word[1])).sum()
}

/// The one's complement sum of a few words of 32 bits, whose sum is below 2^36: so its carries come round in three steps.
#[inline(always)]
pub fn folded(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_wire::checksum;

    #[test]
    fn few_words_are_folded_as_many_are() {
        let mut rng = fastrand::Rng::with_seed(8);
        for _ in 0..10_000 {
            let words: Vec<u32> =
                (0..rng.usize(1..9)).map(|_| if rng.bool() { rng.u32(..) } else { u32::MAX - rng.u32(..3) }).collect();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            assert_eq!(
                folded(words.iter().map(|word| u64::from(*word)).sum()),
                checksum::of(&bytes).folded(),
                "{words:x?}"
            );
        }
        assert_eq!(folded(0), 0);
    }

    #[test]
    fn other_frames_are_not_written() {
        let bare = Bare::new(&[8; HEADERS], 9, [2, 4, 5, 6]).expect("headers of IPv4");
        for length in [0, 59, 61] {
            assert!(!bare.write(&mut vec![0; length], &Tuple::default(), TcpFlags::ACK, 1, 2), "{length}");
        }
        assert!(Bare::new(&[8; HEADERS + 20], 9, [2, 4, 5, 6]).is_none());
    }
}
