# What one does here. `make` alone lists it. CARGO_TARGET_DIR is honoured.

# A shell opened before rustup was installed lacks it.
export PATH := $(PATH):$(HOME)/.cargo/bin

.DEFAULT_GOAL := help
.PHONY: help setup build guests test soak fuzz lint fmt demo bench

GUESTS := guest-examples tests/guests
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?= $(notdir $(wildcard tests/fuzz/corpus/*))
# Always the whole workspace: another selection would unify other features and compile Wasmtime again.
BIN = $(or $(CARGO_TARGET_DIR),target)/debug

help: ## list the recipes
	@sed -n 's/^\([a-z]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup: ## install what is missing here (compiler, PostgreSQL, Java, the test broker's jars)
	@.ci/setup

build: setup ## build the host, the demo and the benchmark
	cargo build --workspace --bins

guests: setup ## build the example and test handlers to WebAssembly
	@for dir in $(GUESTS); do \
	  (cd $$dir && cargo build --release --target wasm32-wasip2 --target-dir target) || exit 1; \
	done

test: build guests ## run every test on a real Kafka broker and a real PostgreSQL
	cargo test --workspace

soak: build guests ## the storms of kills, cuts and restarts at full size: about half an hour; TIDEGATE_TEST_SEED repeats one
	TIDEGATE_TEST_SOAK=1 cargo test --workspace --test suite -- --nocapture --test-threads 2 \
	  soak:: kill_points:: stop_points:: proxy_modes:: faults::

fuzz: setup ## drive the fuzz targets with libFuzzer, FUZZ_SECONDS (600) each; FUZZ_TARGETS picks some
	@tests/fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)

lint: setup ## formatting and clippy, as CI denies them
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	@for dir in $(GUESTS); do \
	  (cd $$dir && cargo fmt --all --check && \
	   cargo clippy --workspace --target wasm32-wasip2 --target-dir target -- -D warnings) || exit 1; \
	done

fmt: ## format all Rust sources
	cargo fmt --all
	@for dir in $(GUESTS); do (cd $$dir && cargo fmt --all) || exit 1; done

demo: build guests ## 2,000 payments with faults and two kills; the books must balance to the cent
	$(BIN)/demo

bench: build guests ## speed beside PostgreSQL, native consumers and itself; BENCH_SCENARIOS picks some
	$(BIN)/bench
