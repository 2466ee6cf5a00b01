# The ways in. Each target calls a script of scripts/, which can also be called directly.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
PREFIX ?= /usr/local

.PHONY: help demo quick build test python proofs chains faults fuzz soak soak-live kills kills-kernel pictures bench compare-link compare-tc compare-internet compare-cpu docs site packages packages-test install uninstall clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## the main job: check a link, compare policies, replay a capture, write two pages
	@scripts/demo.sh

quick: ## a look without root, packages or captures: 30 s of traffic and a page
	@scripts/demo.sh --quick

build: ## the laxity command, in release mode
	@scripts/build.sh

test: ## format, lints, all tests, documentation: what .ci/run calls
	@scripts/test.sh

python: ## the Python package as a wheel and as sources, each tried in a fresh virtual environment
	@scripts/python.sh

proofs: ## checks the proofs of what is guaranteed, by Coq
	@scripts/proofs.sh

chains: ## 100,000 random chains of changes on servers of CPUs, 400 of which are in make test
	@scripts/chains.sh

faults: ## puts old faults of the servers of CPUs back, to see that the search and `validate` find them
	@scripts/faults.sh

fuzz: ## ten million executions of every reader of outside bytes, on a stable toolchain
	@scripts/fuzz.sh

soak: ## 10^9 packets in virtual time through the link policies, some of which are in make test
	@scripts/soak.sh

soak-live: ## twelve hours of all live parts, in the virtual machine's time
	@scripts/soak.sh live

kills: ## kills live parts a thousand times at random moments, as root; a few of them are in make test
	@scripts/kills.sh

kills-kernel: ## the same of the link in the kernel and the broker, in the virtual machine
	@scripts/kills.sh kernel

bench: ## the hot paths beside their baselines
	@scripts/bench.sh

compare-link: ## the live link beside the kernel's disciplines, in the virtual machine
	@scripts/compare-link.sh

compare-tc: ## bounds of the kernel's disciplines beside measured delays, in the virtual machine
	@scripts/compare-tc.sh

compare-internet: ## the live link and other shapers under TCP on emulated access links, in the virtual machine
	@scripts/compare-internet.sh

compare-cpu: ## the live CPU policies beside other schedulers, in the virtual machine
	@scripts/compare-cpu.sh

pictures: ## the pictures of README.md, from real runs, as root
	@scripts/pictures.sh

docs: ## the documentation of the library, as pages
	@scripts/docs.sh

site: ## all documentation as a site to search and read offline, in target/site
	@scripts/site.sh

packages: ## a Debian package, a static command, a Python wheel, the sources with all crates, in target/packages
	@scripts/packages.sh

packages-test: ## installs, uses and removes each of them in a bare Debian, as root
	@scripts/packages-test.sh

install: ## binary, man pages, completions, schema, scenarios under PREFIX (/usr/local)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install.sh

uninstall: ## what install put there
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/uninstall.sh

clean: ## everything that was built
	@scripts/clean.sh
