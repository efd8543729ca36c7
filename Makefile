# Quiver's two commands: `make run` and `make test`. Everything else is cargo's.

CARGO ?= cargo
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# The pages are for those who work on Quiver, so they show private items and may lead to them.
DOC_LINTS := --deny warnings --allow rustdoc::private-intra-doc-links

.PHONY: help run test toolchain
.DEFAULT_GOAL := help

help: ## Say what can be made
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile
	@printf '  make run KEEP=1\tthe same, and leave the demo up for playing\n'

run: toolchain ## Build a release and run the demo: two namespaces joined by quiverd, measured
	@harness/provide build run
	@$(CARGO) build --release --package quiverd --package quiver
	@$(CARGO) run --quiet --release --package quiver -- demo $(if $(filter-out 0,$(KEEP)),--keep)

test: toolchain ## Run all checks and tests: formatting, lints, unit tests, scenarios, namespaces, documentation
	@harness/provide build run test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- --deny warnings
	$(CARGO) xtask check
	RUSTDOCFLAGS='$(DOC_LINTS)' $(CARGO) doc --workspace --no-deps --document-private-items --quiet
	$(CARGO) xtask test
	$(CARGO) xtask disassemble
	$(CARGO) xtask instructions
	$(CARGO) xtask memory loom

toolchain:
	@have=$$($(CARGO) --version 2>/dev/null | cut -d' ' -f2); \
	oldest=$$(printf '%s\n' "$(RUST_VERSION)" "$${have%%-*}" | sort --version-sort | head -n1); \
	if [ -z "$$have" ] || [ "$$oldest" != "$(RUST_VERSION)" ]; then \
		echo "Quiver needs Rust $(RUST_VERSION) or newer ($${have:-none} found): install it from https://rustup.rs" >&2; \
		exit 1; \
	fi
