//! Tests of eviction: clients that lose their place, and clients that keep it.

use super::*;
use tokio::time::advance;

const SOMEBODY: Peer = Peer { user: Some(1000), process: Some(7) };

async fn told_to_go(place: &Place) -> bool {
    tokio::time::timeout(Duration::ZERO, place.lost()).await.is_ok()
}

/// Places of clients that all wait for answers.
fn asking<const N: usize>(places: &Places, user: u32, process: i32) -> [Place; N] {
    [(); N].map(|()| {
        let place = places.take(Peer { user: Some(user), process: Some(process) }).expect("a place");
        place.is(Activity::Asking);
        place
    })
}

#[tokio::test(start_paused = true)]
async fn the_one_idle_for_longest_goes_first_and_who_asks_never() {
    let places = Places::new(3);
    let [first, second, asking] = [0; 3].map(|_| places.take(SOMEBODY).expect("a free place"));
    asking.is(Activity::Asking);
    advance(Duration::from_millis(1)).await;
    first.is(Activity::Idle);
    let third = places.take(SOMEBODY).expect("the second one's");
    assert_eq!((told_to_go(&first).await, told_to_go(&second).await), (false, true));
    // Its task ends later, and frees nothing that is not its own.
    drop(second);
    third.is(Activity::Asking);
    let fourth = places.take(SOMEBODY).expect("the first one's");
    fourth.is(Activity::Asking);
    assert!(told_to_go(&first).await && !told_to_go(&asking).await);
    let told = places.take(SOMEBODY).err().expect("all wait for answers").to_string();
    assert!(told.contains("3 clients wait") && told.contains("3 of them of process 7 of uid 1000"), "{told}");
    drop(asking);
    assert!(places.take(SOMEBODY).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_reader_goes_if_it_has_made_no_progress_for_long() {
    let places = Places::new(2);
    let [slow, hanging] = [0; 2].map(|_| places.take(SOMEBODY).expect("a free place"));
    [&slow, &hanging].into_iter().for_each(|place| place.is(Activity::Reading));
    advance(READER_HANGS - Duration::from_millis(1)).await;
    assert!(places.take(SOMEBODY).is_err());
    slow.is(Activity::Reading);
    advance(Duration::from_millis(1)).await;
    assert!(places.take(SOMEBODY).is_ok());
    assert_eq!((told_to_go(&slow).await, told_to_go(&hanging).await), (false, true));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_has_most_places_shares_with_others_and_not_with_itself() {
    let places = Places::new(6);
    let crowd = asking::<6>(&places, 1000, 7);
    advance(Duration::from_millis(1)).await;
    crowd[0].is(Activity::Asking);
    assert!(places.take(SOMEBODY).is_err(), "it has all of them");
    let [other] = asking(&places, 1000, 8);
    let of = SOMEBODY;
    assert_eq!(crowd[1].lost().await, Loss::Crowd { of, places: 6, limit: 6 }, "silent for longest");
    // It has no more than those of another, idle process; and the crowd's newcomers take nothing from that.
    other.is(Activity::Idle);
    assert!(places.take(SOMEBODY).is_err() && !told_to_go(&other).await);
    let second = asking::<2>(&places, 1000, 8);
    assert_eq!(crowd[2].lost().await, Loss::Crowd { of, places: 5, limit: 6 });
    drop(second);
    for place in &crowd {
        place.holds(9);
    }
    drop((crowd, other));
    assert!(places.0.users.borrow().is_empty() && places.0.processes.borrow().is_empty());
    assert_eq!(places.0.bytes.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn anybody_gets_a_few_places_of_those_who_do_nothing() {
    let places = Places::new(10);
    let idle: Vec<_> = (0..10)
        .map(|process| places.take(Peer { user: Some(1000), process: Some(100 + process) }).expect("a free place"))
        .collect();
    let few = asking::<FEW>(&places, 1000, 7);
    assert!(places.take(SOMEBODY).is_err(), "the others have one each");
    let mut gone = 0;
    for place in &idle {
        gone += usize::from(told_to_go(place).await);
    }
    assert_eq!(gone, FEW);
    drop(few);
}

#[tokio::test(start_paused = true)]
async fn a_user_with_many_processes_shares_with_users_of_few() {
    let places = Places::new(6);
    let crowd = [8, 9, 10, 11].map(|process| asking::<1>(&places, 1000, process));
    let others = asking::<2>(&places, 0, 7);
    let _one_more = asking::<1>(&places, 0, 7);
    assert!(told_to_go(&crowd[0][0]).await, "one of four processes");
    // Three and three: a newcomer could take from its own user only, whose processes have no more than its own.
    assert!(places.take(Peer { user: Some(0), process: Some(7) }).is_err());
    assert!(places.take(Peer { user: Some(1000), process: Some(12) }).is_err());
    let _third_user = asking::<1>(&places, 5, 99);
    assert!(told_to_go(&others[0]).await, "of the one process with three places");
}

#[tokio::test(start_paused = true)]
async fn who_has_most_waiting_goes_when_all_have_too_much() {
    let places = Places::with_bytes(10, 1000);
    let [one, two] = asking(&places, 1000, 7);
    let [other] = asking(&places, 1000, 8);
    other.holds(450);
    one.holds(250);
    two.holds(300);
    assert!(!told_to_go(&one).await && !told_to_go(&two).await && !told_to_go(&other).await, "that is all of it");
    one.holds(251);
    let loss = Loss::Bytes { bytes: 300, of: SOMEBODY, all: 551, limit: 1000 };
    assert_eq!(two.lost().await, loss, "its process has most, and it most of that");
    two.holds(1_000_000);
    assert_eq!(places.0.bytes.get(), 450 + 251, "it counts no more");
    other.holds(2000);
    assert!(told_to_go(&other).await && !told_to_go(&one).await);
}
