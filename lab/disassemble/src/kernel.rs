//! The rules for a kernel, the loop of a stage compiled for one instruction set: it has a loop; nothing
//! is called in the loop; it uses the level's registers, and none that are wider.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{EncodingKind, FlowControl, Instruction, OpKind, Register};

use crate::binary::{Binary, Callee, Function};
use crate::flow::{Calls, Flow};

/// The instruction sets, as their functions are called in `engine/core/src/isa/level.rs`.
pub const LEVELS: [Level; 3] = [
    Level { name: "baseline", bits: 128, widest: 128 },
    Level { name: "avx2", bits: 256, widest: 256 },
    // Columns of eight have 256 bits; the compiler joins some of them to 512.
    Level { name: "avx512", bits: 256, widest: 512 },
];

/// An instruction set.
#[derive(Clone, Copy)]
pub struct Level {
    /// Its name.
    pub name: &'static str,
    /// Bits of a column's register.
    pub bits: usize,
    /// Bits of the widest register that it may use.
    pub widest: usize,
}

impl Level {
    /// The name of the function that runs a kernel of this type. Lifetimes are no part of it.
    fn wrapper(self, kernel: &str) -> String {
        let kernel = kernel.replace("'_, ", "").replace("<'_>", "");
        format!("quiver_engine::isa::level::{}::<{kernel}>", self.name)
    }
}

/// Counts of a kernel's code.
#[derive(Default)]
pub struct Facts {
    /// Functions that are this kernel at the level.
    pub copies: usize,
    /// Bytes of the functions.
    pub bytes: usize,
    /// Instructions in loops.
    pub instructions: usize,
    /// Instructions that use registers of a column's width or wider.
    pub full: usize,
    /// Instructions that use narrower vector registers.
    pub narrow: usize,
    /// Entries of the list that allow the calls.
    pub cold: BTreeSet<String>,
}

/// Problems of a kernel as sentences, with the address of the first occurrence.
pub type Problems = BTreeMap<String, u64>;

/// Checks a kernel at one level: every copy of it that the program has.
pub fn check(binary: &Binary, kernel: &str, level: Level, cold: &BTreeSet<&str>) -> (Facts, Problems) {
    let wrapper = level.wrapper(kernel);
    let found = binary.functions().filter(|function| function.names.contains(&wrapper));
    let (mut facts, mut problems) = (Facts::default(), Problems::new());
    for function in found {
        facts.copies += 1;
        examine(binary, function, level, cold, &mut facts, &mut problems);
    }
    if facts.copies == 0 {
        problems.insert(format!("there is no function {wrapper}"), 0);
    }
    (facts, problems)
}

fn examine(
    binary: &Binary,
    function: &Function,
    level: Level,
    cold: &BTreeSet<&str>,
    facts: &mut Facts,
    problems: &mut Problems,
) {
    let mut calls = Calls::new(binary);
    let flow = match Flow::of(function, &mut calls) {
        Ok(flow) => flow,
        Err(jump) => {
            problems.insert(format!("jumps with `{jump}`, which may lead anywhere"), jump.ip());
            return;
        }
    };
    let mut report = |problem: String, at: u64| _ = problems.entry(problem).or_insert(at);
    let before = facts.full;
    facts.bytes += function.code.len();
    if flow.looping().next().is_none() {
        report("has no loop".into(), function.address);
    }
    for instruction in flow.looping() {
        facts.instructions += 1;
        if matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
            let callee = calls.callee(instruction);
            let name = callee.map_or_else(|| "whatever a register says".into(), |callee: Callee| binary.name(&callee));
            let is_meant = |listed: &&&str| match listed.strip_suffix('*') {
                Some(beginning) => name.starts_with(beginning),
                None => name == **listed,
            };
            match cold.iter().find(is_meant) {
                Some(listed) => _ = facts.cold.insert((*listed).to_owned()),
                None => report(format!("calls {name} in its loop"), instruction.ip()),
            }
        }
        match width(instruction) {
            0 => {}
            bits if bits > level.widest => {
                report(format!("uses {bits} bits in its loop, as in `{instruction}`"), instruction.ip());
            }
            bits if bits >= level.bits => facts.full += 1,
            _ => facts.narrow += 1,
        }
        if level.bits == 128 && instruction.code().encoding() != EncodingKind::Legacy {
            report(format!("has `{instruction}` in its loop, which the baseline lacks"), instruction.ip());
        }
    }
    if facts.full == before {
        report(format!("uses no register of {} bits in its loop", level.bits), function.address);
    }
}

/// Bits of the widest vector register of an instruction; 0 without any.
fn width(instruction: &Instruction) -> usize {
    let bits = |operand| match instruction.op_kind(operand) {
        OpKind::Register => match instruction.op_register(operand) {
            register if register.is_zmm() => 512,
            register if register.is_ymm() => 256,
            register if register.is_xmm() => 128,
            Register::None => 0,
            _ => 0,
        },
        _ => 0,
    };
    (0..instruction.op_count()).map(bits).max().unwrap_or(0)
}
