//! The segment as clients see it: they map the file, and follow the marks of a change.

mod client;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use client::{Client, EntryValue};
use quiver_stats::{Counter, Pair, Segment, Settings, Threads};

const THREADS: Threads = Threads { main: true, workers: 2 };

/// Entries that a client sees behind the three that every segment has.
fn listed(client: &Client) -> Vec<(String, EntryValue)> {
    let mut seen = client.read().expect("nobody changes anything");
    let first: Vec<String> = seen.drain(..3).map(|(name, _)| name).collect();
    assert_eq!(
        first,
        ["/sys/last_stats_clear", "/sys/heartbeat", "/sys/boottime"],
        "clients know them by their places"
    );
    seen
}

fn segment(size: usize) -> Segment {
    Segment::new(Settings { size: Some(size) }, THREADS).expect("memory")
}

#[test]
fn a_client_finds_entries_of_every_kind() {
    let segment = segment(1 << 20);
    let mut edit = segment.edit();
    let (beats, rate) = (edit.scalar("/sys/beats"), edit.gauge("/sys/vector_rate"));
    let tx = edit.vector::<Pair>("/if/tx", 100);
    let drops = edit.vector::<Counter>("/if/drops", 100);
    let per_worker = edit.table::<Counter>("/sys/vector_rate_per_worker", 1, 3);
    let texts = edit.names("/if/names");
    edit.set_name(&texts, 0, Some("local0"));
    edit.set_name(&texts, 2, Some("memif0/1"));
    let link = edit.symlink("/interfaces/memif0_1/tx", tx.target(), 2);
    drop(edit);
    segment.set(&beats, 7);
    segment.set(&rate, 256);
    tx.show(3);
    drops.show(3);
    per_worker.show(3);
    tx.rows()[1][2].add(2, 128);
    drops.rows()[2][1].add(9);
    per_worker.rows()[0][2].set(64);

    let client = Client::map(&segment);
    assert_eq!((client.version(), client.epoch()), (2, 2));
    assert_eq!(client.word(5), 0, "GoVPP takes this for the error vector of an old version");
    let seen = listed(&client);
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["/sys/beats", "/sys/vector_rate", "/if/tx", "/if/drops", "/sys/vector_rate_per_worker"];
    assert_eq!(names[..5], expected);
    assert_eq!(names[5..], ["/if/names", "/interfaces/memif0_1/tx"]);
    assert_eq!(seen[0].1, EntryValue::Scalar(7));
    assert_eq!(seen[1].1, EntryValue::Gauge(256));
    let no = [0, 0];
    assert_eq!(seen[2].1, EntryValue::Combined(vec![vec![no; 3], vec![no, no, [2, 128]], vec![no; 3]]));
    assert_eq!(seen[3].1, EntryValue::Simple(vec![vec![0; 3], vec![0; 3], vec![0, 9, 0]]));
    assert_eq!(seen[4].1, EntryValue::Simple(vec![vec![0, 0, 64]]));
    assert_eq!(seen[5].1, EntryValue::Names(vec!["local0".into(), String::new(), "memif0/1".into()]));
    assert_eq!(seen[6].1, EntryValue::Symlink("/if/tx".into(), 2));

    let mut edit = segment.edit();
    assert!(edit.rename(&link, "/interfaces/wan/tx"));
    edit.set_name(&texts, 0, Some("a name that is longer than the one before"));
    edit.set_name(&texts, 2, None);
    drop(edit);
    assert_eq!(client.epoch(), 3);
    let seen = listed(&client);
    let texts = vec!["a name that is longer than the one before".into(), String::new(), String::new()];
    assert_eq!(seen[5].1, EntryValue::Names(texts));
    assert_eq!(seen[6], ("/interfaces/wan/tx".into(), EntryValue::Symlink("/if/tx".into(), 2)));
}

#[test]
fn removed_entries_leave_no_hole_and_symlinks_find_what_has_moved() {
    let segment = segment(1 << 20);
    let mut edit = segment.edit();
    let _ = edit.scalar("/sys/beats");
    let rx = edit.vector::<Pair>("/if/rx", 8);
    let first: Vec<_> = (0..40).map(|i| edit.symlink(&format!("/interfaces/a{i}/rx"), rx.target(), i)).collect();
    // The last entry, which will move, is one that symlinks lead to.
    let tx = edit.vector::<Pair>("/if/tx", 8);
    let kept: Vec<_> = (0..3).map(|i| edit.symlink(&format!("/interfaces/b{i}/tx"), tx.target(), i)).collect();
    drop(edit);
    let mut edit = segment.edit();
    first.into_iter().for_each(|link| edit.remove(link));
    drop(edit);
    let client = Client::map(&segment);
    let seen = listed(&client);
    assert_eq!(seen.len(), 3 + kept.len());
    for (name, what) in &seen {
        assert!(!name.is_empty(), "an empty name ends GoVPP's list");
        if let Some(of) = name.strip_prefix("/interfaces/b") {
            let column = of.trim_end_matches("/tx").parse().expect("a number");
            assert_eq!(*what, EntryValue::Symlink("/if/tx".into(), column));
        }
    }
    // A name that is free again can be given again.
    let again = segment.edit().symlink("/interfaces/a0/rx", rx.target(), 0);
    assert_eq!(listed(&client).len(), 7);
    segment.edit().remove(again);
}

#[test]
fn names_are_ascii_unique_and_cut_where_clients_would_not_read_on() {
    let segment = segment(1 << 20);
    let mut edit = segment.edit();
    let _ = edit.scalar("/sys/first");
    let _ = edit.scalar(&format!("/{}", "x".repeat(300)));
    let second = edit.scalar("/sys/first");
    let _ = edit.scalar("/größe\n");
    drop(edit);
    segment.set(&second, 5);
    let seen = listed(&Client::map(&segment));
    let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["/sys/first", &format!("/{}", "x".repeat(126)), "/gr__e_"]);
    assert_eq!(seen[0].1, EntryValue::Scalar(0), "the second one of a name is not shown");
}

#[test]
fn a_full_segment_shows_what_it_has_room_for() {
    let segment = segment(64 << 10);
    let mut edit = segment.edit();
    let large = edit.vector::<Pair>("/if/rx", 1 << 20);
    let names = edit.names("/if/names");
    for i in 0..20_000 {
        edit.set_name(&names, i, Some(&format!("interface number {i}")));
        edit.symlink(&format!("/interfaces/{i}/rx"), large.target(), i as u32);
    }
    let late = edit.vector::<Counter>("/late", 10);
    drop(edit);
    large.show(1 << 20);
    late.show(10);
    let room = large.rows()[0].len();
    // What is left is all but the beginnings of the header and of the directory.
    assert_eq!(
        room,
        (64 << 10) / 32 / (3 * 16),
        "a thirty-second of what is left, for three rows of sixteen bytes each"
    );
    let seen = listed(&Client::map(&segment));
    let EntryValue::Combined(rows) = &seen[0].1 else { panic!("{:?}", seen[0]) };
    assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [room; 3]);
    assert!((10..20_000).contains(&seen.len()), "{}", seen.len());
}

/// Tells the other threads to end, when the test fails as well.
struct Done<'d>(&'d AtomicBool);
impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A writer that adds and removes entries all the time, workers that count, and clients that read: no client ever sees a
/// torn entry, and no count ever goes back.
#[test]
fn clients_that_follow_the_marks_never_see_a_torn_entry() {
    let segment = segment(4 << 20);
    let (done, client) = (AtomicBool::new(false), Client::map(&segment));
    let vector = {
        let mut edit = segment.edit();
        let _ = edit.scalar("/sys/beats");
        edit.vector::<Pair>("/if/rx", 1000)
    };
    vector.show(1);
    std::thread::scope(|scope| {
        for row in 1..3 {
            let (row, done) = (vector.rows()[row].clone(), &done);
            scope.spawn(move || {
                for at in (0..1000).cycle() {
                    row[at].add(1, 64);
                    if done.load(Relaxed) {
                        break;
                    }
                }
            });
        }
        let _done = Done(&done);
        let (segment, vector, done) = (&segment, &vector, &done);
        scope.spawn(move || {
            let mut random = fastrand::Rng::with_seed(1);
            let (mut links, mut next, mut shown) = (vec![], 0u32, 1);
            let names = segment.edit().names("/if/names");
            while !done.load(Relaxed) {
                let mut edit = segment.edit();
                for _ in 0..random.usize(1..20) {
                    if random.usize(..400) > links.len() {
                        // Whatever its number, an entry's name says its column.
                        let column = next % 1000;
                        links.push(edit.symlink(&format!("/interfaces/{next}/{column}"), vector.target(), column));
                        let length = random.usize(2..100);
                        edit.set_name(&names, column as usize % 50, Some(&format!("{length:-<length$}")));
                        next += 1;
                    } else {
                        edit.remove(links.swap_remove(random.usize(..links.len())));
                    }
                }
                drop(edit);
                shown = (shown + 1).min(1000);
                vector.show(shown);
                // A client has to find a moment in which nothing changes.
                std::thread::yield_now();
            }
        });
        let (mut reads, mut sums) = (0, vec![]);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while reads < 1000 && std::time::Instant::now() < deadline {
            let Some(seen) = client.read() else { continue };
            reads += 1;
            for (name, what) in &seen {
                match (name.strip_prefix("/interfaces/"), what) {
                    (Some(rest), EntryValue::Symlink(to, column)) => {
                        assert_eq!(to, "/if/rx");
                        assert!(rest.ends_with(&format!("/{column}")), "{name} leads to column {column}");
                    }
                    (None, EntryValue::Combined(rows)) => {
                        let lengths: Vec<usize> = rows.iter().map(Vec::len).collect();
                        assert!(lengths.len() == 3 && lengths[2] >= 1, "{lengths:?}");
                        let now: Vec<u64> = rows[1..].iter().map(|row| row.iter().map(|pair| pair[0]).sum()).collect();
                        assert!(sums.is_empty() || sums[0] <= now[0] && sums[1] <= now[1], "{sums:?} then {now:?}");
                        sums = now;
                    }
                    (None, EntryValue::Names(names)) => {
                        let whole = |name: &&String| name.trim_end_matches('-').parse() == Ok(name.len());
                        assert!(names.iter().filter(|name| !name.is_empty()).all(|name| whole(&name)), "{names:?}");
                    }
                    (None, EntryValue::Scalar(0)) => {}
                    _ => panic!("{name} is {what:?}"),
                }
            }
        }
        assert!(reads >= 1000, "only {reads} reads succeeded in a minute");
    });
}

#[test]
fn lent_vectors_come_and_go_and_their_words_are_used_again() {
    let segment = segment(1 << 20);
    let kept = segment.edit().scalar("/sys/kept");
    let (entry, first) = segment.edit().lend::<Pair>("/acl/0/matches", 3).expect("there is room");
    first.rows()[1][2].add(2, 128);
    let client = Client::map(&segment);
    let of = |name: &str| listed(&client).into_iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let no = [0, 0];
    assert_eq!(
        of("/acl/0/matches"),
        Some(EntryValue::Combined(vec![vec![no; 3], vec![no, no, [2, 128]], vec![no; 3]]))
    );
    assert!(segment.edit().lend::<Pair>("/acl/0/matches", 3).is_none(), "the name is taken");
    segment.edit().withdraw(entry);
    assert_eq!(of("/acl/0/matches"), None);
    // A writer goes on until the vector is dropped, and disturbs nobody.
    let (entry, second) = segment.edit().lend::<Pair>("/acl/0/matches", 3).expect("there is room");
    first.rows()[1][2].add(1, 64);
    assert_eq!(of("/acl/0/matches"), Some(EntryValue::Combined(vec![vec![no; 3]; 3])));
    drop(first);
    segment.edit().withdraw(entry);
    drop(second);
    segment.set(&kept, 7);
    // Far more than the segment has room for at once.
    for round in 0..10_000 {
        let (entry, lent) = segment.edit().lend::<Pair>("/acl/1/matches", 100).expect("there is room again");
        lent.rows()[0][99].add(round, 1);
        if round == 9_999 {
            let Some(EntryValue::Combined(rows)) = of("/acl/1/matches") else { panic!("it is not there") };
            assert_eq!((rows[0][99], rows[0][98], rows[2][99]), ([round, 1], no, no), "old counts are gone");
        }
        segment.edit().withdraw(entry);
    }
    assert_eq!(of("/sys/kept"), Some(EntryValue::Scalar(7)));
    assert!(segment.edit().lend::<Pair>("/acl/2/matches", 10_000).is_none(), "others need room, too");
}
