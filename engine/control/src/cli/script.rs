//! Several commands in one text, and all that they say.

use super::{CommandError, Commands, Output, script};
use crate::control::Control;

impl Commands {
    /// Runs the commands of a text one after the other, and gives what they answer as text, each answer ending in a newline;
    /// the first that fails ends it, with its error behind the answers so far.
    pub async fn run_script(&self, control: &Control, text: &str) -> (String, Result<(), CommandError>) {
        let mut answers = String::new();
        for (_, line) in script(text) {
            let output = Output::default();
            let parts = async {
                let mut parts = String::new();
                while let Some(part) = output.next().await {
                    append(&mut parts, &part.text);
                }
                parts
            };
            let (parts, reply) = futures_util::future::join(parts, self.run(control, line, &output)).await;
            answers.push_str(&parts);
            match reply {
                Ok(reply) => append(&mut answers, &reply.text),
                Err(error) => {
                    append(&mut answers, &error.to_string());
                    return (answers, Err(error));
                }
            }
        }
        (answers, Ok(()))
    }
}

fn append(answers: &mut String, answer: &str) {
    answers.push_str(answer);
    if !answer.is_empty() && !answer.ends_with('\n') {
        answers.push('\n');
    }
}
