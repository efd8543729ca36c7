//! Objects with very many items: they are read and written by a helper, and differences tell in which items they differ.

use std::future::pending;
use std::rc::Rc;

use quiver_control::config::Scope;
use quiver_control::files::Helper;
use quiver_control::transaction::Terms;
use quiver_control::{Change, Control, Kind, LocalFuture, Object, ObjectError, Record};
use quiver_testkit::counting::Counting;
use quiver_testkit::executor::Executor;

/// A book.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Book {
    /// Its title.
    pub title: String,
    /// Number of pages.
    #[default(100)]
    pub pages: u32,
}

/// A shelf.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "shelves")]
pub struct Shelf {
    /// Its name.
    #[key]
    pub name: String,
    /// The room that it is in.
    pub room: Option<String>,
    /// Its books.
    pub books: Vec<Book>,
}

/// A disk that does not answer.
struct Hanging;

impl Helper for Hanging {
    fn help(&self, _: Box<dyn FnOnce() + Send>) -> LocalFuture<()> {
        Box::pin(pending())
    }
}

fn library() -> (Executor, Control, Rc<Counting>) {
    let (executor, helper) = (Executor::new(3), Rc::new(Counting::default()));
    let control = executor.control();
    let check = |shelf: &Shelf| match shelf.books.iter().any(|book| book.title == "forbidden") {
        true => Err(ObjectError::field("books", "one of them is forbidden")),
        false => Ok(()),
    };
    let kind = Kind::new(|_: &Control, _: Change<'_, Shelf>| Ok(())).check(check);
    control.objects().add(kind.memory(|shelf| 1024 * shelf.books.len() as u64));
    control.help_by(helper.clone(), Rc::new(Hanging));
    (executor, control, helper)
}

fn shelf(count: usize, line: impl Fn(usize) -> String) -> String {
    let books: String = (0..count).map(|n| format!("  - {}\n", line(n))).collect();
    format!("shelves:\n- name: s\n  books:\n{books}")
}

fn plain(n: usize) -> String {
    format!("title: b{n}")
}

fn apply(executor: &Executor, control: &Control, text: &str) -> Result<String, String> {
    let done = executor.block_on(control.apply("f.yaml", text, Terms::default()));
    done.map(|reply| reply.text).map_err(|error| error.to_string())
}

fn diff(executor: &Executor, control: &Control, text: &str) -> String {
    executor.block_on(control.diff("f.yaml", text, Scope::Whole)).expect("a configuration").text
}

#[test]
fn a_long_object_is_read_and_written_by_a_helper() {
    let (executor, control, helper) = library();
    apply(&executor, &control, &shelf(200, plain)).expect("short");
    assert_eq!(helper.take(), 0, "a short one is read and written at once");
    let told = apply(&executor, &control, &shelf(1000, plain)).expect("long");
    // Read and written.
    assert!(helper.take() >= 2);
    assert!(told.contains(r#"+ books: {"items":1000,"from":200,"to":1000}"#), "{told}");
    let runs = control.objects().get::<Shelf>(&"s".into()).expect("it runs");
    let book = |n| Book { title: format!("b{n}"), pages: 100 };
    assert_eq!(runs.books, (0..1000).map(book).collect::<Vec<_>>());
    let saved = control.save().text;
    assert_eq!(diff(&executor, &control, &saved), "");
    assert!(saved.ends_with("      - title: b999") && !saved.contains("pages"), "{saved}");
    // JSON has the object as a file has it.
    assert_eq!(control.save().json["shelves"][0]["books"].as_array().map(Vec::len), Some(1000));
}

#[test]
fn a_disk_that_does_not_answer_holds_up_no_long_object() {
    let (executor, control, _) = library();
    let reading = control.clone();
    control.spawn("reader", async move { reading.read_by_helper(|| ()).await.unwrap_or_default() });
    for text in [shelf(1000, plain), shelf(999, plain), shelf(999, plain)] {
        apply(&executor, &control, &text).expect("long");
    }
    assert_eq!(control.objects().get::<Shelf>(&"s".into()).map(|shelf| shelf.books.len()), Some(999));
}

#[test]
fn errors_in_a_long_object_are_told_where_they_are() {
    let (executor, control, _) = library();
    let line = |n| if n == 700 { "{title: b, pages: many}".to_owned() } else { plain(n) };
    let error = apply(&executor, &control, &shelf(1000, line)).expect_err("it is wrong");
    assert!(error.contains("704:23") && error.contains("books[700].pages"), "{error}");
    let line = |n| if n == 700 { "title: forbidden".to_owned() } else { plain(n) };
    let error = apply(&executor, &control, &shelf(1000, line)).expect_err("it is wrong");
    assert!(error.contains("shelves s") && error.contains("one of them is forbidden"), "{error}");
    let error = apply(&executor, &control, "shelves:\n- [1]\n").expect_err("it is wrong");
    assert!(error.contains("this is no object"), "{error}");
}

#[test]
fn differences_of_a_long_list_tell_the_items_that_differ() {
    let (executor, control, _) = library();
    assert_eq!(diff(&executor, &control, &shelf(1000, plain)), "+ shelves s\n    books: {\"items\":1000}");
    apply(&executor, &control, &shelf(1000, plain)).expect("long");
    let other = |n| if n == 500 { "{title: other, pages: 7}".to_owned() } else { plain(n) };
    let expected = "~ shelves s\n  - books: {\"items\":1000,\"from\":500,\"changed\":[{\"title\":\"b500\"}]}\n  + books: \
                    {\"items\":1000,\"from\":500,\"changed\":[{\"title\":\"other\",\"pages\":7}]}";
    assert_eq!(diff(&executor, &control, &shelf(1000, other)), expected);
    let without = |n| plain(if n < 500 { n } else { n + 1 });
    let expected = "~ shelves s\n  - books: {\"items\":1000,\"from\":500,\"changed\":[{\"title\":\"b500\"}]}\n  + books: \
                    {\"items\":999,\"from\":500,\"changed\":[]}";
    assert_eq!(diff(&executor, &control, &shelf(999, without)), expected);
    // Other fields are told as ever.
    let text = shelf(1000, plain).replace("- name: s\n", "- name: s\n  room: hall\n");
    assert_eq!(diff(&executor, &control, &text), "~ shelves s\n  - room: none\n  + room: hall");
    assert_eq!(diff(&executor, &control, "shelves: []\n"), "- shelves s");
}
