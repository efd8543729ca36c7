//! Test programs on every instruction set, golden scenarios among them.

/// The `main` of a test program without harness (`harness = false`): the lists of its modules, or of itself, and the crate's
/// golden scenarios in a daemon of `rooms`.
///
/// `level_program!(golden: quiver_scenarios::ROOMS, agreement, hosts);` or `level_program!(self);`
#[macro_export]
macro_rules! level_program {
    (golden: $rooms:expr $(, $module:ident)* $(,)?) => {
        fn main() -> std::process::ExitCode {
            let golden = $crate::golden::trials(env!("CARGO_MANIFEST_DIR"), $rooms);
            $crate::trials::run([golden, $($module::LEVEL_TESTS.trials()),*])
        }
    };
    ($($module:ident),+ $(,)?) => {
        fn main() -> std::process::ExitCode {
            $crate::trials::run([$($module::LEVEL_TESTS.trials()),+])
        }
    };
}
