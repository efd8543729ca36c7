# Quiver's commands: `make run`, `make test` and `make packages`. Everything else is cargo's.

CARGO ?= cargo
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# `make run` compiles for this machine's CPU only, and other crates' code less: minutes instead of a quarter of an hour.
# PROFILE=release builds what packages hold.
PROFILE ?= demo
CPU_FLAGS := $(shell sed -n '/^flags/{s/.*: //p;q}' /proc/cpuinfo)
has = $(if $(filter-out $(CPU_FLAGS),$(1)),,yes)
LEVEL := $(if $(call has,avx512f avx512bw avx512vl),avx512,$(if $(call has,avx2 bmi1 bmi2 abm popcnt),avx2,baseline))
ONE_LEVEL := $(foreach level,$(filter-out $(LEVEL),baseline avx2 avx512),--cfg quiver_without_$(level))
FLAGS = $(strip $(RUSTFLAGS) $(if $(filter demo,$(PROFILE)),$(ONE_LEVEL)))
NOTICE = Built for this machine only ($(LEVEL)), its control side with less optimization; packets take up to 2 % more instructions than in a package (docs/decisions/0029). Figures for publication: make run PROFILE=release
BUILD_ENV = $(if $(filter demo,$(PROFILE)),RUSTFLAGS='$(FLAGS)')

.PHONY: help run test test-peers packages toolchain
.DEFAULT_GOAL := help

help: ## Say what can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile
	@printf '  make run KEEP=1\tthe same, and leave the demo up for playing\n'
	@printf '  make packages PROFILE=demo\tquickly, for this machine only\n'
	@printf '  make run PROFILE=release\tthe same with what packages hold; its figures may be published\n'

run: toolchain ## Build and run the demo: two namespaces joined by quiverd, measured
	@harness/provide build run
	@$(BUILD_ENV) $(CARGO) build --profile $(PROFILE) --package quiverd --package quiver
	@$(or $(CARGO_TARGET_DIR),target)/$(PROFILE)/quiver demo $(if $(filter-out 0,$(KEEP)),--keep)
	@$(if $(filter demo,$(PROFILE)),echo '$(NOTICE)' >&2)

test: toolchain ## Run all checks and tests, in stages: lints; unit and integration tests; slow guards
	@harness/provide build run test
	@$(CARGO) xtask test

test-peers: toolchain ## Run the tests with slow real peers: guests, browsers, clusters
	@harness/provide build run test
	@$(CARGO) xtask test-peers

# Packages hold all instruction sets, and a release, unless PROFILE=demo is said.
packages: PROFILE = release
packages: toolchain ## Build Debian packages, an image of containers and a tarball below target/packages
	@harness/provide build package
	@$(CARGO) xtask packages --profile $(PROFILE) --flags '$(FLAGS)' $(PACKAGES)

toolchain:
	@have=$$($(CARGO) --version 2>/dev/null | cut -d' ' -f2); \
	oldest=$$(printf '%s\n' "$(RUST_VERSION)" "$${have%%-*}" | sort --version-sort | head -n1); \
	if [ -z "$$have" ] || [ "$$oldest" != "$(RUST_VERSION)" ]; then \
		echo "Quiver needs Rust $(RUST_VERSION) or newer ($${have:-none} found): install it from https://rustup.rs" >&2; \
		exit 1; \
	fi
