//! Tables with lock-free readers and one writer.
