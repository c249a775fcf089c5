# Front door. Everything is built by CMake (CMakePresets.json); this file compiles nothing itself.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
PRESET ?= cpu-release
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 180
BUILD := build/$(PRESET)
SETUP := cmake/setup-debian.sh

.PHONY: help setup build demo check check-release check-asan check-tsan check-hf check-long fuzz bench lint format install clean

help: ## this list
	@echo 'shardgpt: trains GPT-2 fully sharded over MPI'
	@echo
	@sed -n 's/^\([a-z-]*\):.* ## /\1\t/p' Makefile | awk -F'\t' '{ printf "  make %-14s %s\n", $$1, $$2 }'
	@echo
	@echo '  Variables: JOBS=$(JOBS) PRESET=$(PRESET) PREFIX=$(PREFIX) FUZZ_SECONDS=$(FUZZ_SECONDS)'

setup: ## install every Debian package that building and checking need
	@$(SETUP)

build: ## the three programs, into build/PRESET/bin
	@$(SETUP) --optional build
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) --parallel $(JOBS) --target programs
	@echo 'programs: $(BUILD)/bin'

demo: build ## data preparation, training, stop, resume, conversion on real text (about five minutes)
	bash tests/demo/run_demo.sh $(BUILD)/bin

check: setup check-release check-asan check-tsan ## every test, then the sanitizers

check-release:
	cmake --preset cpu-release
	cmake --build --preset cpu-release --parallel $(JOBS)
	ctest --preset cpu-release --parallel $(JOBS) -LE 'hf|long'

# Memory errors and undefined behaviour: all but the heavy tests; of the rank counts few tell everything.
check-asan:
	cmake --preset cpu-asan
	cmake --build --preset cpu-asan --parallel $(JOBS) --target programs tests_light
	ctest --preset cpu-asan --parallel $(JOBS) -LE 'hf|long|heavy|static|np4|np5|np7|np8|np16' -E 'trainer.*np2'

# Missing orderings between threads: the tests that are about them.
check-tsan:
	cmake --preset cpu-tsan
	cmake --build --preset cpu-tsan --parallel $(JOBS) --target tests_tsan
	ctest --preset cpu-tsan --parallel $(JOBS) -L tsan

check-hf: build ## compare with Hugging Face transformers and tokenizers and with tiktoken (Python, from PyPI)
	@$(SETUP) --optional hf
	cmake --build --preset $(PRESET) --parallel $(JOBS) --target tests_hf
	@/usr/bin/python3 -c 'import torch' || { echo 'python3-torch is missing: apt-get install python3-torch' >&2; exit 1; }
	sh tests/hf/venv.sh build/hf-venv tests/hf/requirements.txt --system-site-packages
	sh tests/hf/venv.sh build/tokenizer-venv tests/hf/tokenizer_requirements.txt
	ctest --preset $(PRESET) -L hf

check-long: ## the tests that take more than minutes, then fuzz
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) --parallel $(JOBS)
	ctest --preset $(PRESET) --parallel $(JOBS) -L long
	$(MAKE) fuzz

fuzz: ## libFuzzer on the readers of foreign files, FUZZ_SECONDS for each of the four (clang)
	@$(SETUP) --optional build fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz --parallel $(JOBS) --target fuzz_targets
	bash tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS)

bench: build ## speed of this machine: training against PyTorch where it is installed, kernels, tokenizer, checkpoints
	cmake --build --preset $(PRESET) --parallel $(JOBS) --target bench_step bench_train bench_tokenizer bench_checkpoint
	bash tests/bench/run.sh $(BUILD)

lint: ## clang-format, clang-tidy, shellcheck
	@$(SETUP) --optional build lint
	cmake --preset lint -Werror=dev -Werror=deprecated
	bash cmake/lint.sh build/lint $(JOBS)

format: ## apply .clang-format to every source file
	bash cmake/check_format.sh --fix

install: build ## programs, configurations and documents under PREFIX (default /usr/local)
	cmake --install $(BUILD) --prefix '$(PREFIX)'

clean: ## delete build and demo
	rm -rf build demo
