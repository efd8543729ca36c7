//! Parses VPP's counters: `show interface`, `show node counters`.

use std::collections::BTreeMap;

/// `memif1/0 rx packets`, and so on.
pub fn of_interfaces(answer: &str) -> BTreeMap<String, u64> {
    let (mut counters, mut interface) = (BTreeMap::new(), String::new());
    for line in answer.lines().skip(1) {
        let mut words: Vec<_> = line.split_whitespace().collect();
        if !line.starts_with(' ') && words.len() >= 4 {
            // Name, number, state, MTU stand before the first counter.
            interface = words.drain(..4).next().unwrap_or_default().to_owned();
        }
        if let Some((count, name)) = words.split_last()
            && let (Ok(count), false) = (count.parse(), name.is_empty())
        {
            counters.insert(format!("{interface} {}", name.join(" ")), count);
        }
    }
    counters
}

/// `ip4-input ip4 ttl <= 1`: node and reason, summed over threads.
pub fn of_nodes(answer: &str) -> BTreeMap<String, u64> {
    let mut counters = BTreeMap::new();
    for line in answer.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        // The severity is behind the reason.
        if let [count, node, reason @ .., _] = &words[..]
            && let (Ok(count), false) = (count.parse::<u64>(), reason.is_empty())
        {
            *counters.entry(format!("{node} {}", reason.join(" "))).or_default() += count;
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_the_names_of_their_owners() {
        let interfaces = of_interfaces(
            "              Name               Idx    State  MTU (L3/IP4/IP6/MPLS)     Counter          Count     \n\
             local0                            0     down          0/0/0/0       \n\
             memif1/0                          1      up          9000/0/0/0     rx packets                    40\n\
             \x20                                                                   rx bytes                    2400\n",
        );
        assert_eq!(interfaces["memif1/0 rx packets"], 40);
        assert_eq!(interfaces["memif1/0 rx bytes"], 2400);
        assert_eq!(interfaces.len(), 2);
        let nodes = of_nodes(
            "   Count                  Node                              Reason               Severity \n\
             \x20        3             ip4-input               ip4 ttl <= 1                        error  \n\
             \x20        2             ip4-input               ip4 ttl <= 1                        error  \n",
        );
        assert_eq!(nodes["ip4-input ip4 ttl <= 1"], 5);
    }
}
