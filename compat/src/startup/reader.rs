//! Reads the sections of a `startup.conf`.

use super::error::{Note, Place, Severity, StartupError};
use super::given::GivenValues;
use super::grammar::{self, Block, Item};
use super::known::{self, Disposition, Setting};
use super::settings::Startup;

/// Where a text comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A file of this name.
    File(&'a str),
    /// The arguments of the command line, joined with blanks.
    CommandLine,
}

impl Source<'_> {
    fn name(&self) -> &str {
        match self {
            Source::File(name) => name,
            Source::CommandLine => "command line",
        }
    }
}

impl Startup {
    /// Reads a text. Errors of single settings become notes; a text that cannot be parsed is an error with its place.
    pub fn read(&mut self, source: Source<'_>, text: &str) -> Result<(), StartupError> {
        let mut items = grammar::read(text, matches!(source, Source::File(_)))?.into_iter();
        while let Some(item) = items.next() {
            let name = match item {
                Item::Word(word) => word,
                Item::Block(block) => return Err(StartupError::Nameless(block.place)),
            };
            // A word alone is content, too: `heapsize 64M`.
            let content = match items.next() {
                Some(Item::Block(block)) => block,
                Some(word) => Block { place: word.place(), items: vec![word] },
                None => return Err(StartupError::Bare { place: name.place, section: name.text }),
            };
            let mut section = Section { startup: self, source, place: name.place };
            section.read(&name.text, content.items)?;
        }
        Ok(())
    }
}

/// A section that is being read.
struct Section<'a> {
    startup: &'a mut Startup,
    source: Source<'a>,
    place: Place,
}

impl Section<'_> {
    fn read(&mut self, name: &str, mut items: Vec<Item>) -> Result<(), StartupError> {
        let settings: Vec<&Setting> = known::SETTINGS.iter().filter(|setting| setting.section == name).collect();
        if let [setting] = settings[..]
            && setting.form.is_empty()
        {
            self.tell(setting, self.place, name);
            return Ok(());
        }
        if settings.is_empty() {
            let what = format!("section {name} is not known, and was left out");
            self.note(Severity::Warning, self.place, &what);
            return Ok(());
        }
        items.reverse();
        // The item that is read next is the last.
        while let Some(first) = items.last() {
            let place = first.place();
            let found = settings.iter().find_map(|setting| Some((setting, known::take(setting.form, &mut items)?)));
            let Some((setting, arguments)) = found else {
                self.skip(name, &settings, &mut items)?;
                continue;
            };
            match &setting.disposition {
                Disposition::Used { read, .. } => {
                    let mut notes = Vec::new();
                    let given = GivenValues { section: setting.section, setting: setting.name(), arguments };
                    read(self.startup, &given, &mut notes)?;
                    for (severity, text) in notes {
                        self.note(severity, place, &format!("{name}: {text}"));
                    }
                }
                _ => self.tell(setting, place, &format!("{name}: {}", setting.name())),
            }
        }
        Ok(())
    }

    /// Leaves out items up to the next known setting, with a warning; a known setting whose arguments are missing is an error.
    fn skip(&mut self, section: &str, settings: &[&Setting], items: &mut Vec<Item>) -> Result<(), StartupError> {
        let begins = |item: &Item| settings.iter().find(|setting| known::begins(setting.form, item)).copied();
        let Some(first) = items.pop() else { return Ok(()) };
        if let Some(setting) = begins(&first) {
            let (section, form) = (setting.section, setting.form);
            return Err(StartupError::Incomplete { place: first.place(), section, form });
        }
        let mut left_out = first.excerpt();
        while let Some(item) = items.pop_if(|item| begins(item).is_none()) {
            if left_out.len() < 80 {
                left_out.push(' ');
                left_out.push_str(&item.excerpt());
            }
        }
        let what = format!("{section}: '{left_out}' is not known, and was left out");
        self.note(Severity::Warning, first.place(), &what);
        Ok(())
    }

    /// Notes the disposition of a setting that is not used.
    fn tell(&mut self, setting: &Setting, place: Place, what: &str) {
        match setting.disposition {
            Disposition::Used { .. } => {}
            Disposition::Pointless(why) => {
                self.note(Severity::Info, place, &format!("{what}: has no meaning here: {why}"))
            }
            Disposition::Missing(why) => self.note(Severity::Warning, place, &format!("{what}: {why}")),
        }
    }

    fn note(&mut self, severity: Severity, place: Place, what: &str) {
        let text = format!("{}: {place}: {what}", self.source.name());
        self.startup.notes.push(Note { severity, text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Startup {
        let mut startup = Startup::default();
        startup.read(Source::File("startup.conf"), text).unwrap_or_else(|error| panic!("{text}: {error}"));
        startup
    }

    fn notes(text: &str) -> Vec<String> {
        read(text).notes.iter().map(|note| format!("{:?} {note}", note.severity)).collect()
    }

    #[test]
    fn sections_may_stand_several_times_and_the_last_word_counts() {
        let startup = read("unix { log /a exec /b } cpu { workers 1 } unix { log /c } cpu { workers 3 }");
        assert_eq!((startup.unix.log, startup.unix.exec), (Some("/c".into()), Some("/b".into())));
        assert_eq!(startup.cpu.workers, Some(3));
    }

    #[test]
    fn a_choice_may_touch_the_next_word() {
        let startup = read("statseg { per-node-counters onupdate-interval 0.05 socket-name /s }");
        assert_eq!((startup.stats_socket, startup.stats_without_nodes), (Some("/s".into()), false));
        assert_eq!(startup.stats_interval.as_deref(), Some("0.05"));
    }

    #[test]
    fn strangers_are_named_with_their_line_and_what_follows_them_is_read() {
        assert_eq!(
            notes("unix {\n frobnicate 7 { x } log /l\n}\nwarp { 9 }\nwoof 1 unix interactive"),
            [
                "Warning startup.conf: line 2, column 2: unix: 'frobnicate 7 { ... }' is not known, and was left out",
                "Warning startup.conf: line 4, column 1: section warp is not known, and was left out",
                "Warning startup.conf: line 5, column 1: section woof is not known, and was left out",
            ]
        );
        assert_eq!(read("unix { frobnicate 7 log /l }").unix.log, Some("/l".into()));
        assert!(read("woof 1 unix interactive").unix.foreground);
    }

    #[test]
    fn what_has_no_meaning_or_is_missing_is_told() {
        let told = notes("memory { main-heap-size 2G } dpdk { dev default { num-rx-queues 3 } } heapsize 64M");
        assert_eq!(told.len(), 3);
        assert!(told[0].starts_with("Info startup.conf: line 1, column 1: memory: has no meaning here: "));
        assert!(told[1].starts_with("Warning startup.conf: line 1, column 30: dpdk: "), "{}", told[1]);
        assert!(told[2].starts_with("Info"));
    }

    #[test]
    fn errors_name_place_section_and_remedy() {
        let error = |text: &str| Startup::default().read(Source::File("f"), text).unwrap_err().to_string();
        assert_eq!(
            error("cpu {\n  workers many\n}"),
            "line 2, column 11: cpu: workers: 'many' does not fit: write a number"
        );
        assert_eq!(error("unix { exec }"), "line 1, column 8: unix: this is not complete: write `exec <file>`");
        assert_eq!(error("unix { exec { x } }"), "line 1, column 8: unix: this is not complete: write `exec <file>`");
        assert_eq!(error("unix"), "line 1, column 1: section unix: its content is missing: write `unix { ... }`");
        assert!(error("{ unix }").contains("without a name"));
        assert!(error("cpu { corelist-workers 3-1 }").contains("such as 2-3,18-19"));
        assert!(error("cpu { corelist-workers 0-99999999999 }").contains("such as 2-3,18-19"));
        assert!(error("buffers { buffers-per-numa 99999999999 }").contains("a number"));
        assert!(error("statseg { size 99999999999G }").contains("such as 64M"));
    }
}
