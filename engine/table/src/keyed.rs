//! A keyed hash of fixed-size keys: without its secret an attacker cannot aim keys at one bucket.

/// Hashes keys of `N` words with a secret.
///
/// Folded multiplication, as in wyhash: two words, masked by secrets, are multiplied to 128 bits, whose halves are combined by
/// exclusive or. All bits of the result depend on all bits of the key and the secret. It is no cryptographic hash: hashes must not be
/// shown to those who choose keys.
#[derive(Clone, Copy)]
pub struct KeyedHash {
    secret: [u64; 4],
}

impl KeyedHash {
    /// A hash with a secret: random words, or in a simulation those of its seed.
    pub fn new(secret: [u64; 4]) -> KeyedHash {
        // Whatever the caller's words are, masks of zero, and equal ones, would be weak.
        let mut state = 0x243f_6a88_85a3_08d3;
        let secret = secret.map(|word| {
            state = fold(state ^ word, 0x9e37_79b9_7f4a_7c15) ^ word.rotate_left(32);
            fold(state, 0xbf58_476d_1ce4_e5b9)
        });
        KeyedHash { secret }
    }

    /// The hash of a key. Keys of different lengths are different.
    #[inline(always)]
    pub fn hash<const N: usize>(&self, key: &[u64; N]) -> u64 {
        let [begin, even, odd, end] = self.secret;
        let mut state = begin ^ N as u64;
        let mut at = 0;
        while at < N {
            let next = if at + 1 < N { key[at + 1] } else { odd };
            state = fold(key[at] ^ even, next ^ state);
            at += 2;
        }
        fold(state ^ odd, end)
    }
}

/// Both halves of the product depend on all bits of both words.
#[inline(always)]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const HASH: fn(u64) -> KeyedHash = |seed| KeyedHash::new([seed, 0, 0, 0]);

    /// Sequential addresses and ports, as in CSIT's profiles of sessions: all 63 ports of each of 65,536 hosts.
    fn sessions() -> impl Iterator<Item = [u64; 2]> {
        let (to, hosts, ports) = (0x1401_0001, 0..65_536, 1024..1087);
        hosts.flat_map(move |host| {
            ports.clone().map(move |port| [(0xc0a8_0000 + host) << 32 | to, port << 48 | 80 << 32 | 6])
        })
    }

    /// Chi-square of a number of equally likely buckets, divided by its degrees of freedom: near 1 for a random function.
    fn deviation(buckets: &[u32]) -> f64 {
        let sum: u64 = buckets.iter().map(|count| u64::from(*count)).sum();
        let expected = sum as f64 / buckets.len() as f64;
        let square = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
        buckets.iter().map(square).sum::<f64>() / (buckets.len() - 1) as f64
    }

    #[test]
    fn sessions_spread_over_buckets_by_every_part_of_the_hash() {
        const BUCKETS: usize = 1 << 17;
        for seed in if cfg!(miri) { 0..0 } else { 0..2 } {
            let hash = HASH(seed);
            let mut parts = [47, 32, 15, 0].map(|shift| (shift, vec![0_u32; BUCKETS]));
            for key in sessions() {
                let hash = hash.hash(&key);
                for (shift, counts) in &mut parts {
                    counts[(hash >> *shift) as usize % BUCKETS] += 1;
                }
            }
            for (shift, counts) in parts {
                // The deviation's own is the root of 2 by the number of buckets, 0.4 %.
                let deviation = deviation(&counts);
                assert!((deviation - 1.0).abs() < 0.02, "bits from {shift} on: {deviation}");
            }
        }
    }

    #[test]
    fn each_bit_of_a_key_and_of_the_secret_changes_half_of_the_hash() {
        let rounds = 512_u64;
        let changed = |one: u64, other: u64, flips: &mut [u32; 64]| {
            (0..64).for_each(|bit| flips[bit] += ((one ^ other) >> bit) as u32 & 1);
        };
        for bit in 0..3 * 64 {
            let (mut of_key, mut of_secret) = ([0; 64], [0; 64]);
            for round in 0..rounds {
                // Keys with few bits.
                let mut key = [round, round << 32, 0];
                let whole = HASH(7).hash(&key);
                key[bit / 64] ^= 1 << (bit % 64);
                changed(whole, HASH(7).hash(&key), &mut of_key);
                let mut secret = [round, 0, 0, 0];
                let before = KeyedHash::new(secret).hash(&[1, 2, 3]);
                secret[bit / 64 + 1] ^= 1 << (bit % 64);
                changed(before, KeyedHash::new(secret).hash(&[1, 2, 3]), &mut of_secret);
            }
            // Half of 512, with a standard deviation of 11.
            let range = 190..=322;
            assert!(of_key.iter().all(|flips| range.contains(flips)), "bit {bit} of the key: {of_key:?}");
            assert!(of_secret.iter().all(|flips| range.contains(flips)), "bit {bit} of the secret: {of_secret:?}");
        }
    }

    #[test]
    fn keys_of_another_length_or_order_have_another_hash() {
        let hash = HASH(1);
        let hashes =
            [hash.hash(&[0]), hash.hash(&[0, 0]), hash.hash(&[0, 0, 0]), hash.hash(&[1, 2]), hash.hash(&[2, 1])];
        let distinct: std::collections::HashSet<u64> = hashes.into_iter().collect();
        assert_eq!(distinct.len(), hashes.len());
        assert_eq!(hash.hash(&[1, 2]), HASH(1).hash(&[1, 2]), "the same secret, the same hash");
    }
}
