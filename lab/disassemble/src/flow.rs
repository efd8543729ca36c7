//! A function's control flow: its blocks of instructions, and which of them can run more than once.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind};

use crate::binary::{Binary, Callee, Function};

/// Instructions that run one after the other.
pub struct Block {
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// The blocks that may come next.
    successors: Vec<usize>,
    /// Whether the block can be reached from itself: it is part of a loop.
    pub is_in_loop: bool,
}

/// The control flow of a function, as far as it can be reached from its entry: unwinding is left out.
pub struct Flow {
    /// The blocks, of which the first is the entry.
    pub blocks: Vec<Block>,
    /// Whether the function can return to its caller, or end in a jump to another function that may.
    pub returns: bool,
}

/// Where control goes behind an instruction.
enum Next {
    On,
    To(u64),
    Either(u64),
    Nowhere,
    /// Back to the caller, or into another function for good.
    Out,
}

impl Flow {
    /// The flow of a function. The error is an indirect jump, which may lead anywhere.
    pub fn of(function: &Function, calls: &mut Calls) -> Result<Flow, Instruction> {
        let instructions = decode(function);
        let end = function.address + function.code.len() as u64;
        let is_inside = |address: &u64| (function.address..end).contains(address);

        // Walk everything that can be reached; note where blocks begin.
        let (mut starts, mut reached) = (BTreeSet::from([function.address]), BTreeSet::new());
        let mut waiting = vec![function.address];
        let mut returns = false;
        while let Some(mut at) = waiting.pop() {
            while let Some(instruction) = instructions.get(&at)
                && reached.insert(at)
            {
                match calls.next(instruction, is_inside)? {
                    Next::On => {}
                    Next::To(to) => {
                        starts.insert(to);
                        waiting.push(to);
                        break;
                    }
                    Next::Either(to) => {
                        returns |= !is_inside(&to);
                        starts.extend([to, instruction.next_ip()]);
                        waiting.push(to);
                    }
                    Next::Nowhere => break,
                    Next::Out => {
                        returns = true;
                        break;
                    }
                }
                at = instruction.next_ip();
            }
        }

        let index: BTreeMap<u64, usize> =
            starts.iter().filter(|start| reached.contains(start)).zip(0..).map(|(start, i)| (*start, i)).collect();
        let mut blocks = vec![];
        for start in index.keys() {
            let (mut block, mut at) = (vec![], *start);
            let mut successors = vec![];
            while let Some(instruction) = instructions.get(&at) {
                block.push(*instruction);
                let next = calls.next(instruction, is_inside)?;
                at = instruction.next_ip();
                match next {
                    Next::On if !starts.contains(&at) => continue,
                    Next::On => successors.extend(index.get(&at)),
                    Next::To(to) => successors.extend(index.get(&to)),
                    Next::Either(to) => successors.extend(index.get(&to).into_iter().chain(index.get(&at))),
                    Next::Nowhere | Next::Out => {}
                }
                break;
            }
            blocks.push(Block { instructions: block, successors, is_in_loop: false });
        }
        let looping: Vec<_> = (0..blocks.len()).map(|block| is_cyclic(&blocks, block)).collect();
        blocks.iter_mut().zip(looping).for_each(|(block, looping)| block.is_in_loop = looping);
        Ok(Flow { blocks, returns })
    }
    /// The instructions that can run more than once.
    pub fn looping(&self) -> impl Iterator<Item = &Instruction> {
        self.blocks.iter().filter(|block| block.is_in_loop).flat_map(|block| &block.instructions)
    }
}

fn decode(function: &Function) -> BTreeMap<u64, Instruction> {
    let decoder = Decoder::with_ip(64, &function.code, function.address, DecoderOptions::NONE);
    decoder.into_iter().map(|instruction| (instruction.ip(), instruction)).collect()
}

/// Whether a block can be reached from itself. That includes loops with several entries, which are no natural ones.
fn is_cyclic(blocks: &[Block], from: usize) -> bool {
    let mut seen = vec![false; blocks.len()];
    let mut waiting = blocks[from].successors.clone();
    while let Some(at) = waiting.pop() {
        if at == from {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            waiting.extend(&blocks[at].successors);
        }
    }
    false
}

/// Facts about called functions.
pub struct Calls<'b> {
    binary: &'b Binary,
    /// Whether a function returns; for those that are being looked at, no until it is found.
    returns: BTreeMap<u64, bool>,
}

impl<'b> Calls<'b> {
    /// Nothing yet.
    pub fn new(binary: &'b Binary) -> Calls<'b> {
        Calls { binary, returns: BTreeMap::new() }
    }
    /// The target of a call, or of a jump out of the function; None if a register decides.
    pub fn callee(&self, instruction: &Instruction) -> Option<Callee> {
        match instruction.op0_kind() {
            OpKind::NearBranch64 => Some(Callee::Local(instruction.near_branch_target())),
            OpKind::Memory if instruction.is_ip_rel_memory_operand() => {
                self.binary.slot(instruction.ip_rel_memory_address()).cloned()
            }
            _ => None,
        }
    }
    fn next(&mut self, instruction: &Instruction, is_inside: impl Fn(&u64) -> bool) -> Result<Next, Instruction> {
        Ok(match instruction.flow_control() {
            FlowControl::Next | FlowControl::Interrupt | FlowControl::XbeginXabortXend => Next::On,
            FlowControl::UnconditionalBranch => match instruction.near_branch_target() {
                to if is_inside(&to) => Next::To(to),
                _ => self.leave(instruction),
            },
            FlowControl::ConditionalBranch => Next::Either(instruction.near_branch_target()),
            FlowControl::Call | FlowControl::IndirectCall => {
                let callee = self.callee(instruction);
                if callee.is_some_and(|callee| !self.returns(&callee)) { Next::Nowhere } else { Next::On }
            }
            FlowControl::IndirectBranch => match self.callee(instruction) {
                Some(_) => self.leave(instruction),
                None => return Err(*instruction),
            },
            FlowControl::Return => Next::Out,
            FlowControl::Exception => Next::Nowhere,
        })
    }
    fn leave(&mut self, jump: &Instruction) -> Next {
        let returns = self.callee(jump).is_none_or(|callee| self.returns(&callee));
        if returns { Next::Out } else { Next::Nowhere }
    }
    /// Whether a function can return: not those that panic or abort.
    fn returns(&mut self, callee: &Callee) -> bool {
        let address = match callee {
            Callee::Local(address) => *address,
            Callee::Import(name) => return !matches!(name.as_str(), "abort" | "_exit" | "_Unwind_Resume"),
        };
        if let Some(returns) = self.returns.get(&address) {
            return *returns;
        }
        let Some(function) = self.binary.at(address) else { return true };
        self.returns.insert(address, false);
        // A jump that may lead anywhere may lead back.
        let returns = Flow::of(function, self).map_or(true, |flow| flow.returns);
        self.returns.insert(address, returns);
        returns
    }
}
