//! Tests that hold for the commands of all rooms.

/// The line that gives a command no more than it must have. None if it must have an argument.
fn shortest(grammar: &str) -> Option<String> {
    let (mut line, mut depth) = (String::new(), 0);
    for letter in grammar.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ if depth == 0 => line.push(letter),
            _ => {}
        }
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    words.iter().all(|word| !word.contains(['<', '{'])).then(|| words.join(" "))
}

#[test]
fn whatever_is_shown_is_shown_to_programs() {
    let mut daemon = quiver_scenarios::daemon(
        "create packet-generator interface pg0
         set interface state pg0 up
         set interface ip address pg0 10.0.0.1/24
         ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
         create bridge-domain 1",
    );
    let shows: Vec<String> =
        daemon.control().commands().list().iter().filter_map(|(grammar, _)| shortest(grammar)).collect();
    let shows: Vec<&String> = shows.iter().filter(|line| line.starts_with("show ")).collect();
    assert!(shows.len() > 20, "{shows:?}");
    for line in shows {
        let reply = daemon.run(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(!reply.json.is_null(), "{line} --json says nothing, where people read: {}", reply.text);
    }
}
