//! Operators, their answers, and what is configured meanwhile.

use std::cell::RefCell;
use std::rc::Rc;

use quiver_control::protocol::{self, Request, Response};

use super::World;
use super::client::Client;
use crate::coroutine::Pause;
use crate::log::Event;
use crate::network::Network;
use crate::operator;

/// Requests that are answered at the same time at most.
const CLIENTS_MAX: usize = 3;
/// Configurations kept to be applied again.
const SAVED_MAX: usize = 8;

impl World<'_> {
    /// An operator asks something, or goes away before the answer.
    pub(super) fn ask(&mut self) {
        if self.clients.len() < CLIENTS_MAX {
            if self.chances.looks_on {
                if self.row.left == 0 || self.log.now() < self.row.from {
                    return;
                }
                self.row.left -= 1;
            }
            let request = operator::request(&mut self.random, self.chances.habit, &self.saved);
            self.request(request);
        } else if self.random.u8(0..4) == 0 {
            self.hang_up();
        }
    }

    fn request(&mut self, request: Request) {
        self.asked += 1;
        let number = self.asked;
        self.log.note(Event::Asked(number, described(&request)));
        self.fates.change_begins(self.log.now());
        let answer = Rc::new(RefCell::new(None));
        let applies = matches!(request, Request::Apply(_));
        let (control, told) = (self.simulated.control.clone(), answer.clone());
        let task = self.simulated.control.spawn("client", async move {
            let (answering, end) = protocol::answer(&control, request);
            let response = end.await;
            while answering.part().await.is_some() {}
            *told.borrow_mut() = Some(response);
        });
        self.clients.push(Client { number, task, answer, applies });
    }

    /// A client goes away before its answer. What it applies goes on.
    fn hang_up(&mut self) {
        let client = self.clients.swap_remove(self.random.usize(0..self.clients.len()));
        client.task.cancel();
        self.log.note(Event::Fault(format!("client {} hangs up", client.number)));
        if client.applies {
            self.fates.may_be_undone(self.log.now());
        }
    }

    pub(super) fn hear_answers(&mut self) {
        let (answered, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.clients).into_iter().partition(|client| client.answer.borrow().is_some());
        self.clients = waiting;
        for client in answered {
            let refusal = match client.answer.take() {
                Some(Response::Error(refusal)) => Err(refusal.what),
                _ => Ok(()),
            };
            self.report.answered += 1;
            self.report.refused += u64::from(refusal.is_err());
            if client.applies && refusal.is_err() {
                self.fates.may_be_undone(self.log.now());
            }
            self.log.note(Event::Answered(client.number, refusal));
            // A worker in the middle of a turn may still refer to what was; so may the next turn, to what it read late.
            self.simulated.members.iter_mut().for_each(|member| member.stale = 2);
        }
    }

    /// Whether the configuration changes just now, or may.
    pub(super) fn is_changing(&self) -> bool {
        let amidst = matches!(self.simulated.thread.at, Pause::Seam(_));
        amidst || !self.clients.is_empty() || self.simulated.control.is_held()
    }

    /// Notes the configuration after any change: by operators, or by the daemon when a change was not confirmed.
    pub(super) fn see_configuration(&mut self) {
        if matches!(self.simulated.thread.at, Pause::Seam(_)) {
            return;
        }
        let (control, step) = (&self.simulated.control, self.log.now());
        let began = std::mem::replace(&mut self.rested, step);
        if control.is_held() {
            self.fates.change_begins(began);
        }
        let changes = control.changes();
        if std::mem::replace(&mut self.changes, changes) == changes {
            return;
        }
        let saved = control.save();
        self.fates.change_begins(began);
        self.fates.changed(Network::read(&saved.json), step);
        self.report.configurations += 1;
        self.saved.push(saved.text);
        if self.saved.len() > SAVED_MAX {
            self.saved.remove(0);
        }
        self.simulated.members.iter_mut().for_each(|member| member.stale = 2);
    }
}

fn described(request: &Request) -> String {
    match request {
        Request::Command { line, .. } => line.clone(),
        Request::Apply(file) => format!("apply a file of {} lines", file.text.lines().count()),
        Request::Diff(file) => format!("diff a file of {} lines", file.text.lines().count()),
        other => format!("{other:?}"),
    }
}
